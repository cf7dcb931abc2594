"""Topics of positive pairs, found by LDA: words of left texts that occur together with words of right texts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.data.statistics import words_of
from pairlight.text.tokenizer import UNKNOWN, TokenizedTexts

Index = NDArray[np.int64]
# Small chunks and few iterations: the topics are updated often in one pass, which suits short texts.
CHUNK_SIZE, ITERATIONS = 100, 20


@dataclass(frozen=True)
class TopicWords:
    """The most probable words of every topic in left and right texts; 0 as padding."""

    left: Index  # [T, P]
    right: Index  # [T, P]


class PairTopics:
    """An LDA model in which every positive pair is a document, with separate vocabularies for left and right texts."""

    def __init__(self, texts: TokenizedTexts, pairs: Pairs, *, vocab: int, passes: int, seed: int) -> None:
        positive = np.ones(len(pairs), bool) if pairs.label is None else pairs.label > 0
        if not positive.any():
            raise InputError("Topics need a positive pair, but no label is above 0: give at least one.")
        self.passes, self.seed = passes, seed
        sides = [_distinct_words(texts, numbers[positive], vocab) for numbers in (pairs.left, pairs.right)]
        numbered = [np.unique(word, return_inverse=True) for _, word in sides]
        self.words = [words for words, _ in numbered]  # sorted, for left and for right texts
        owner = np.concatenate([document for document, _ in sides])
        word = np.concatenate([numbered[0][1], len(self.words[0]) + numbered[1][1]])
        order = np.argsort(owner, kind="stable")
        documents = np.split(word[order], np.flatnonzero(np.diff(owner[order])) + 1)
        self.documents = [[(number, 1) for number in document.tolist()] for document in documents]

    def top_words(self, topics: int, words: int) -> TopicWords:
        """Fit `topics` topics and return at most `words` words of each for left and for right texts."""
        from gensim.models import LdaModel

        # NumPy's BLAS reads past the end of small matrices, and what is there may be no number; it is not used.
        with np.errstate(invalid="ignore"):
            model = LdaModel(
                self.documents,
                num_topics=topics,
                id2word={number: str(number) for number in range(sum(map(len, self.words)))},
                chunksize=CHUNK_SIZE,
                iterations=ITERATIONS,
                passes=self.passes,
                eval_every=None,
                random_state=self.seed,
            )
        left, right = np.split(model.get_topics(), [len(self.words[0])], axis=1)  # [T, V]
        return TopicWords(_most_probable(left, self.words[0], words), _most_probable(right, self.words[1], words))


def topic_overlap(fine: TopicWords, coarse: TopicWords) -> NDArray[np.float64]:
    """Return how far each coarse topic covers each fine topic: [coarse T, fine T].

    This is the share of the fine topic's left words that the coarse topic has, times the share of its right words.
    """
    shares = []
    for few, many in ((fine.left, coarse.left), (fine.right, coarse.right)):
        shared = np.array([np.isin(few, topic[topic > 0]).sum(1) for topic in many])
        shares.append(shared / np.maximum((few > 0).sum(1), 1))
    return np.asarray(shares[0] * shares[1])


def link_topics(overlap: NDArray[np.float64], min_links: int) -> NDArray[np.bool_]:
    """Link each coarse topic to the `min_links` fine topics it overlaps most, and each fine topic to a coarse one."""
    coarse, fine = overlap.shape
    links = np.zeros((coarse, fine), bool)
    nearest = np.argsort(-overlap, axis=1, kind="stable")[:, :min_links]
    links[np.arange(coarse)[:, None], nearest] = True
    links[overlap.argmax(0), np.arange(fine)] = True
    return links


def _distinct_words(texts: TokenizedTexts, numbers: NDArray[np.integer], vocab: int) -> tuple[Index, Index]:
    """Return the distinct words of each text that are in the vocabulary: positions of texts, and words."""
    document, word = words_of(texts, numbers)
    known = (word > UNKNOWN) & (word < vocab)
    distinct = np.unique(document[known] * vocab + word[known])
    return distinct // vocab, distinct % vocab


def _most_probable(probability: NDArray[np.floating], words: Index, count: int) -> Index:
    """Return the words of highest probability in each topic, highest first: [T, count]."""
    best = np.argsort(-probability, axis=1, kind="stable")[:, :count]
    return np.pad(words[best], ((0, 0), (0, count - best.shape[1])))
