"""The table of text pairs that models are trained and evaluated on."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Pairs:
    """N pairs over a list of distinct texts, so that a text in many pairs is stored, tokenized and encoded once."""

    texts: list[str]
    left: Ints  # [N] indices into texts
    right: Ints  # [N] indices into texts
    group: Ints  # [N] number of the ranking list that the pair belongs to, in order of first appearance
    label: Floats | None = None  # [N] higher is a better match; None for pairs that are only scored
    left_id: list[str] | None = None
    right_id: list[str] | None = None

    @classmethod
    def of(
        cls,
        left: Sequence[str],
        right: Sequence[str],
        label: Iterable[float] | None = None,
        left_id: Sequence[str] | None = None,
        right_id: Sequence[str] | None = None,
    ) -> Self:
        """Make a table from columns of equal length.

        Pairs with the same `left_id` form a ranking list; without `left_id`, pairs with the same left text.
        """
        labels = None if label is None else np.fromiter(label, np.float32)
        for name, column in (("right", right), ("label", labels), ("left_id", left_id), ("right_id", right_id)):
            if column is not None and len(column) != len(left):
                raise InputError(f"{name} has {len(column)} values, but left has {len(left)}: give one for each pair.")
        index: dict[str, int] = {}
        lefts = _indices(left, index)
        rights = _indices(right, index)
        group = _indices(left if left_id is None else left_id, {})
        return cls(
            list(index),
            lefts,
            rights,
            group,
            labels,
            None if left_id is None else list(left_id),
            None if right_id is None else list(right_id),
        )

    def __len__(self) -> int:
        return len(self.left)

    @property
    def labels(self) -> Floats:
        """The labels; raises InputError if there are none."""
        if self.label is None:
            raise InputError(
                f"These {len(self)} pairs have no labels: give a number for each, higher for a better match.",
                option="label",
            )
        return self.label

    @property
    def lists(self) -> int:
        """The number of ranking lists."""
        return len(np.unique(self.group))

    def digest(self) -> str:
        """Return a SHA-256 of the texts, pairs, ranking lists and labels."""
        found = hashlib.sha256("\n".join(self.texts).encode("utf-8", "surrogatepass"))
        for column in (self.left, self.right, self.group, self.label):
            found.update(b"" if column is None else column.tobytes())
        return found.hexdigest()

    def take(self, rows: Sequence[int] | NDArray[np.integer]) -> "Pairs":
        """Return a table of these rows, in this order."""
        at = np.asarray(rows, np.int64)
        used, positions = _renumbered(np.concatenate([self.left[at], self.right[at]]))
        return Pairs(
            [self.texts[i] for i in used],
            positions[: len(at)],
            positions[len(at) :],
            _renumbered(self.group[at])[1],
            None if self.label is None else self.label[at],
            None if self.left_id is None else [self.left_id[i] for i in at],
            None if self.right_id is None else [self.right_id[i] for i in at],
        )


def concat_pairs(tables: Sequence[Pairs]) -> Pairs:
    """Join tables; labels and ids are kept if all tables have them."""
    return Pairs.of(
        [table.texts[i] for table in tables for i in table.left],
        [table.texts[i] for table in tables for i in table.right],
        None if any(t.label is None for t in tables) else [float(label) for t in tables for label in t.labels],
        None if any(t.left_id is None for t in tables) else [name for t in tables for name in t.left_id or []],
        None if any(t.right_id is None for t in tables) else [name for t in tables for name in t.right_id or []],
    )


def duplicate_keys(texts: Sequence[str]) -> Ints:
    """Return a number for every text; texts that differ only in case and whitespace have the same number."""
    index: dict[str, int] = {}
    return _indices((" ".join(text.split()).casefold() for text in texts), index)


def _indices(values: Iterable[str], index: dict[str, int]) -> Ints:
    return np.fromiter((index.setdefault(value, len(index)) for value in values), np.int32)


def _renumbered(numbers: Ints) -> tuple[Ints, Ints]:
    """Return the distinct numbers in order of first appearance, and the position of every number among them."""
    distinct, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return distinct[order], rank[inverse]
