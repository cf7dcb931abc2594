"""Tokenized texts without some of their words, to see how the score changes."""

from collections.abc import Collection, Sequence, Set
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pairlight.text.subwords import SUBWORDS
from pairlight.text.tokenizer import TokenizedTexts

Words = Sequence[int]  # for each token of a text, the number of the word that it belongs to; -1 for none


def texts_without(
    texts: TokenizedTexts,
    removals: Sequence[tuple[int, Collection[int]]],
    words: Sequence[Words] | None = None,
    subword_words: Sequence[Words] | None = None,
) -> TokenizedTexts:
    """All texts but the last, then each text of `removals` (text, words to remove) without these words.

    The last text is the empty one, which replaces a text that has lost all its words. `words` are the words of every
    text's tokens where words have several, and `subword_words` those of its subwords where the model has evidence.
    """
    kept = [(text, frozenset[int]()) for text in range(len(texts) - 1)]
    kept += [(text, frozenset(removed)) for text, removed in removals]
    joins = None
    if texts.joins is not None:
        joins = np.concatenate(
            [joins_without(texts.joins[texts.start[t] : texts.start[t + 1]], removed) for t, removed in kept]
        )
    subwords = texts.subwords
    if subwords is not None and subword_words is not None:
        subwords = _without(subwords, kept, subword_words)
    return replace(_without(texts, kept, words), joins=joins, subwords=subwords)


def _without(
    texts: TokenizedTexts, kept: Sequence[tuple[int, Set[int]]], words: Sequence[Words] | None
) -> TokenizedTexts:
    empty = texts.ids[texts.start[-2] :]
    parts = []
    for text, removed in kept:
        ids = texts.ids[texts.start[text] : texts.start[text + 1]]
        of = range(len(ids)) if words is None else words[text]
        part = ids[[word not in removed for word in list(of)[: len(ids)]]]
        parts.append(part if len(part) else empty)
    start = np.cumsum([0, *map(len, parts)])
    return replace(texts, ids=np.concatenate(parts), start=start, truncated=0)


def joins_without(joins: NDArray[np.int32], removed: Set[int]) -> NDArray[np.int32]:
    """The merge positions of a text's parse tree without some of its words, padded with -1.

    A node that was merged with a removed word takes the place of their parent.
    """
    found: list[int] = []
    present = [t not in removed for t in range(len(joins))]
    words = max(sum(present), 1)
    for at in joins[:-1].tolist() if joins[0] >= 0 else []:
        if present[at] and present[at + 1]:
            found.append(sum(present[:at]))
        present[at : at + 2] = [present[at] or present[at + 1]]
    return np.array(found + [-1] * (words - len(found)), np.int32)


def words_of_subwords(text: str, spans: Sequence[tuple[int, int]], subwords: int) -> list[int]:
    """The word, by its span in the text, that each of the first subwords of the text belongs to; -1 for none.

    A space that is a subword of its own belongs to the word after it.
    """
    owner = np.full(len(text) + 1, -1)
    for number, (start, end) in enumerate(spans):
        owner[start:end] = number
    found: list[int] = []
    for token in reversed(SUBWORDS.tokens(text)[:subwords]):
        letters = owner[token.start : token.end]
        letters = letters[letters >= 0]
        is_space = not text[token.start : token.end].strip()
        found.append(int(letters[0]) if len(letters) else found[-1] if found and is_space else -1)
    return found[::-1] + [-1] * (subwords - len(found))  # an empty text has one subword
