"""What the training texts say of a word: in how many of them it stands."""

import numpy as np
from numpy.typing import NDArray

from pairlight.text.tokenizer import Encoded


def document_frequency(texts: Encoded, documents: NDArray[np.integer], vocab: int) -> NDArray[np.int64]:
    """How many of these texts hold each word; the last number, 0, is that of a word beyond the vocabulary: [vocab + 1]."""
    lengths = texts.lengths[documents]
    owner = np.repeat(np.arange(len(documents)), lengths)
    place = np.repeat(texts.start[documents], lengths) + np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    words = texts.ids[place].astype(np.int64)
    seen = np.unique(owner[words < vocab] * vocab + words[words < vocab])
    return np.bincount(seen % vocab, minlength=vocab + 1)
