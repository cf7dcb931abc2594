"""Batches of texts with similar lengths, padded to rectangles of ids."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairlight.text.tokenizer import TokenizedTexts

Index = NDArray[np.int64]


@dataclass(frozen=True)
class PaddedBatch:
    """Texts padded to the length of the longest one."""

    ids: Index  # [B, L], 0 as padding
    mask: NDArray[np.bool_]  # [B, L], true at words
    joins: Index | None  # [B, L], merge positions of parse trees, -1 as padding; None if no text has a tree


def gather(texts: TokenizedTexts, numbers: Sequence[int] | NDArray[np.integer]) -> PaddedBatch:
    """Pad the texts with these numbers, in this order."""
    at = np.asarray(numbers, np.int64)
    start = texts.start[at]
    lengths = texts.start[at + 1] - start  # texts.lengths would compute the lengths of all texts for every batch
    position = np.arange(lengths.max(initial=1))
    mask = position < lengths[:, None]
    source = (start[:, None] + position)[mask]
    ids = np.zeros(mask.shape, np.int64)
    ids[mask] = texts.ids[source]
    joins = None
    if texts.joins is not None:
        joins = np.full(mask.shape, -1, np.int64)
        joins[mask] = texts.joins[source]
    return PaddedBatch(ids, mask, joins)


def batches_by_length(lengths: NDArray[np.integer], batch_size: int) -> list[Index]:
    """Split item numbers into batches, shortest items first: for scoring, where the order does not matter."""
    order = np.argsort(lengths, kind="stable")
    return [order[i : i + batch_size] for i in range(0, len(order), batch_size)]


def shuffled_batches(
    lengths: NDArray[np.integer], batch_size: int, rng: "np.random.Generator", pool: int = 50
) -> list[Index]:
    """Split item numbers into random batches of similar lengths: for training.

    Items are shuffled, divided into pools of `pool` batches, and sorted by length inside each pool.
    """
    order = rng.permutation(len(lengths))
    batches: list[Index] = []
    for i in range(0, len(order), pool * batch_size):
        items = order[i : i + pool * batch_size]
        items = items[np.argsort(lengths[items], kind="stable")]
        batches += [items[j : j + batch_size] for j in range(0, len(items), batch_size)]
    return [batches[i] for i in rng.permutation(len(batches))]
