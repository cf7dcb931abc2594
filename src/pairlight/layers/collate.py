"""Builds padded batches of tokenized texts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.data.batching import gather
from pairlight.layers.types import Tokens
from pairlight.text.tokenizer import TokenizedTexts


def collate(texts: TokenizedTexts, numbers: NDArray[np.integer], device: Any = None) -> Tokens:
    """The texts with these numbers as a batch: PyTorch tensors if a device is given, otherwise NumPy arrays."""
    rows = gather(texts, numbers)
    arrays: tuple[Any, ...] = rows.ids, rows.mask, texts.ngrams, rows.joins
    if device is not None:
        import torch

        arrays = tuple(None if each is None else torch.from_numpy(each).to(device) for each in arrays)
    return Tokens(*arrays)
