"""The topics of matching pairs: which words on the left go with which words on the right."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairlight.data.pairs import Pairs
from pairlight.data.statistics import words_of
from pairlight.core.errors import InputError
from pairlight.text.tokenizer import UNKNOWN, TokenizedTexts

Index = NDArray[np.int64]
# Few looks at a pair, and many updates of the topics in one pass: this finds topics of short texts soonest.
CHUNK, LOOKS = 100, 20


@dataclass(frozen=True)
class Patches:
    """The likeliest words of every topic on either side; 0 where a side has fewer words than asked for."""

    left: Index  # [T, P]
    right: Index  # [T, P]


class PairTopics:
    """Finds topics in the pairs that match, each pair one document, a word on the left another than on the right."""

    def __init__(self, texts: TokenizedTexts, pairs: Pairs, *, vocab: int, passes: int, seed: int) -> None:
        match = np.ones(len(pairs), bool) if pairs.label is None else pairs.label > 0
        if not match.any():
            raise InputError("There is no pair that matches (label above 0) to find topics in: give some.")
        self.passes, self.seed = passes, seed
        sides = [_bags(texts, numbers[match], vocab) for numbers in (pairs.left, pairs.right)]
        numbered = [np.unique(word, return_inverse=True) for _, word in sides]
        self.words = [words for words, _ in numbered]  # of either side, in ascending order
        owner = np.concatenate([document for document, _ in sides])
        word = np.concatenate([numbered[0][1], len(self.words[0]) + numbered[1][1]])
        order = np.argsort(owner, kind="stable")
        documents = np.split(word[order], np.flatnonzero(np.diff(owner[order])) + 1)
        self.documents = [[(number, 1) for number in document.tolist()] for document in documents]

    def patches(self, topics: int, words: int) -> Patches:
        """So many topics, each with up to so many words a side."""
        from gensim.models import LdaModel

        model = LdaModel(
            self.documents,
            num_topics=topics,
            id2word={number: str(number) for number in range(sum(map(len, self.words)))},
            chunksize=CHUNK,
            iterations=LOOKS,
            passes=self.passes,
            eval_every=None,
            random_state=self.seed,
        )
        left, right = np.split(model.get_topics(), [len(self.words[0])], axis=1)  # [T, V]
        return Patches(_likeliest(left, self.words[0], words), _likeliest(right, self.words[1], words))


def overlap(fine: Patches, coarse: Patches) -> NDArray[np.float64]:
    """What share of a fine topic's left words a coarse one has, times that of its right words: [coarse T, fine T]."""
    shares = []
    for few, many in ((fine.left, coarse.left), (fine.right, coarse.right)):
        has = np.array([np.isin(few, topic[topic > 0]).sum(1) for topic in many])
        shares.append(has / np.maximum((few > 0).sum(1), 1))
    return np.asarray(shares[0] * shares[1])


def linked(overlaps: NDArray[np.float64], least: int) -> NDArray[np.bool_]:
    """Each coarse topic has links to its `least` nearest fine ones, each fine one to its nearest coarse one or more."""
    coarse, fine = overlaps.shape
    found = np.zeros((coarse, fine), bool)
    nearest = np.argsort(-overlaps, axis=1, kind="stable")[:, :least]
    found[np.arange(coarse)[:, None], nearest] = True
    found[overlaps.argmax(0), np.arange(fine)] = True
    return found


def _bags(texts: TokenizedTexts, numbers: NDArray[np.integer], vocab: int) -> tuple[Index, Index]:
    """The known words of these texts, each once a text: which text, which word."""
    document, word = words_of(texts, numbers)
    known = (word > UNKNOWN) & (word < vocab)
    once = np.unique(document[known] * vocab + word[known])
    return once // vocab, once % vocab


def _likeliest(probability: NDArray[np.floating], words: Index, most: int) -> Index:
    """The words of highest probability in each topic, highest first: [T, most]."""
    best = np.argsort(-probability, axis=1, kind="stable")[:, :most]
    return np.pad(words[best], ((0, 0), (0, most - best.shape[1])))
