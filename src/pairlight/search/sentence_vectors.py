"""Static sentence vectors: the mean of a text's subword vectors, which need no model."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pairlight.text.inputs import InputSpec
from pairlight.text.subwords import SubwordTokenizer, subword_vectors

DIM = 256
MAX_SUBWORDS = 512  # of a text that are read

_CHUNK = 4096  # texts at a time, so that their subword vectors fit in memory


def sentence_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """One vector of length 1 for each text: [T, 256]."""
    tokenizer, table = SubwordTokenizer(InputSpec(input_kind="subwords")), subword_vectors()
    x = np.empty((len(texts), DIM), np.float32)
    for at in range(0, len(texts), _CHUNK):
        tokens = tokenizer.tokenize(texts[at : at + _CHUNK], MAX_SUBWORDS)
        x[at : at + _CHUNK] = np.add.reduceat(table[tokens.ids].astype(np.float32), tokens.start[:-1])
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    return x


def quantized(x: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Vectors of length 1 as int8, and the scale of each that makes its length 1 again."""
    largest = np.maximum(np.abs(x).max(1, initial=0), 1e-12)
    rows = np.rint(x * (127 / largest)[:, None]).astype(np.int8)
    length = np.linalg.norm(rows.astype(np.float32), axis=1)
    return rows, (1 / np.maximum(length, 1e-12)).astype(np.float32)
