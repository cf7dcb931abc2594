"""Batches of ids: texts of like length together, cut out of the flat arrays with no work per text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairlight.text.tokenizer import TokenizedTexts

Index = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Some texts side by side, as wide as the longest of them."""

    ids: Index  # [B, L], 0 behind the end of a text
    mask: NDArray[np.bool_]  # [B, L], true where there is a word
    joins: Index | None  # [B, L], where some text came with a parse


def gather(encoded: TokenizedTexts, texts: Sequence[int] | NDArray[np.integer]) -> Rows:
    """The texts with these numbers, in this order."""
    at = np.asarray(texts, np.int64)
    start = encoded.start[at]
    lengths = encoded.start[at + 1] - start  # of these alone: all of them would be counted anew for every batch
    place = np.arange(lengths.max(initial=1))
    mask = place < lengths[:, None]
    there = (start[:, None] + place)[mask]
    ids = np.zeros(mask.shape, np.int64)
    ids[mask] = encoded.ids[there]
    joins = None
    if encoded.joins is not None:
        joins = np.full(mask.shape, -1, np.int64)
        joins[mask] = encoded.joins[there]
    return Rows(ids, mask, joins)


def by_length(width: NDArray[np.integer], batch: int) -> list[Index]:
    """Item numbers in batches of `batch`, shortest first: for scoring, where the order does not matter."""
    order = np.argsort(width, kind="stable")
    return [order[i : i + batch] for i in range(0, len(order), batch)]


def shuffled(width: NDArray[np.integer], batch: int, rng: np.random.Generator, pool: int = 50) -> list[Index]:
    """Item numbers in random batches of like width: shuffled, sorted by width inside pools of `pool` batches."""
    order = rng.permutation(len(width))
    batches: list[Index] = []
    for i in range(0, len(order), pool * batch):
        some = order[i : i + pool * batch]
        some = some[np.argsort(width[some], kind="stable")]
        batches += [some[j : j + batch] for j in range(0, len(some), batch)]
    return [batches[i] for i in rng.permutation(len(batches))]
