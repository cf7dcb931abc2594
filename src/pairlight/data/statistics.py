"""What the training texts say of a word: in how many of them it stands."""

import numpy as np
from numpy.typing import NDArray

from pairlight.data.batches import gather
from pairlight.text.tokenizer import Encoded


def document_frequency(texts: Encoded, documents: NDArray[np.integer], vocab: int) -> NDArray[np.int64]:
    """How many of these texts hold each word: [vocab + 1]; the last is 0, that of a word beyond the vocabulary."""
    owner = np.repeat(np.arange(len(documents)), texts.lengths[documents])
    rows = gather(texts, documents)
    words = rows.ids[rows.mask]
    seen = np.unique(owner[words < vocab] * vocab + words[words < vocab])
    return np.bincount(seen % vocab, minlength=vocab + 1)
