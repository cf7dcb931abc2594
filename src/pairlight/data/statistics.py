"""Statistics of the words of a collection of texts."""

import numpy as np
from numpy.typing import NDArray

from pairlight.text.tokenizer import TokenizedTexts


def words_of(texts: TokenizedTexts, numbers: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Concatenate the words of these texts; return the position in `numbers` of each word's text, and the words."""
    lengths = texts.lengths[numbers]
    owner = np.repeat(np.arange(len(numbers)), lengths)
    # Not a padded array: one long text would make it too wide.
    gap = texts.start[numbers] - (np.cumsum(lengths) - lengths)
    return owner, texts.ids[np.arange(len(owner)) + gap[owner]]


def document_frequency(texts: TokenizedTexts, documents: NDArray[np.integer], vocab: int) -> NDArray[np.int64]:
    """Count the texts that contain each word: [vocab + 1]; the last is that of an out-of-vocabulary word, 0."""
    owner, words = words_of(texts, documents)
    seen = np.unique(owner[words < vocab] * vocab + words[words < vocab])
    return np.bincount(seen % vocab, minlength=vocab + 1)


def bm25_idf(frequency: NDArray[np.integer], documents: int) -> NDArray[np.float64]:
    """The idf of BM25 in Lucene's form: ln(1 + (N - df + 0.5) / (df + 0.5)) with N documents."""
    return np.asarray(np.log1p((documents - frequency + 0.5) / (frequency + 0.5)))


def drmm_idf(frequency: NDArray[np.integer], documents: int) -> NDArray[np.float64]:
    """The idf of DRMM: ln((N + 1) / df) with N documents; a word without occurrences counts as if it had one."""
    return np.asarray(np.log((documents + 1) / np.maximum(frequency, 1)))
