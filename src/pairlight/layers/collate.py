"""Builds padded batches of tokenized texts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.data.batching import gather
from pairlight.layers.types import Tokens
from pairlight.text.tokenizer import TokenizedTexts


def collate(texts: TokenizedTexts, numbers: NDArray[np.integer], device: Any = None) -> Tokens:
    """The texts with these numbers as a batch: PyTorch tensors if a device is given, otherwise NumPy arrays."""
    subwords = None if texts.subwords is None else collate(texts.subwords, numbers, device)
    rows = gather(texts, numbers)
    oov = (None, None) if texts.oov is None else (texts.oov.ids, texts.oov.vectors)
    arrays: tuple[Any, ...] = rows.ids, rows.mask, texts.ngrams, rows.joins, *oov
    if device is not None:
        import torch

        arrays = tuple(None if each is None else torch.from_numpy(each).to(device) for each in arrays)
    ids, mask, ngrams, joins, oov_ids, oov_vectors = arrays
    return Tokens(ids, mask, ngrams, joins, subwords, oov_ids, oov_vectors)
