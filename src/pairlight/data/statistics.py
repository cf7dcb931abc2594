"""What the training texts say of a word: in which, and in how many of them it stands."""

import numpy as np
from numpy.typing import NDArray

from pairlight.text.tokenizer import TokenizedTexts


def words_of(texts: TokenizedTexts, numbers: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The words of these texts end to end: the place of each word's text among the numbers, and the word."""
    lengths = texts.lengths[numbers]
    owner = np.repeat(np.arange(len(numbers)), lengths)
    # Not side by side: a single long text would make all of them as wide.
    gap = texts.start[numbers] - (np.cumsum(lengths) - lengths)
    return owner, texts.ids[np.arange(len(owner)) + gap[owner]]


def document_frequency(texts: TokenizedTexts, documents: NDArray[np.integer], vocab: int) -> NDArray[np.int64]:
    """How many of these texts hold each word: [vocab + 1]; the last is 0, that of a word beyond the vocabulary."""
    owner, words = words_of(texts, documents)
    seen = np.unique(owner[words < vocab] * vocab + words[words < vocab])
    return np.bincount(seen % vocab, minlength=vocab + 1)
