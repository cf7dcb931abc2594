"""The pair table: which texts meet, how well they match, and which pairs form one ranking list."""

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
    """N pairs over a list of distinct texts: a text that occurs in many pairs is kept, tokenised and encoded once."""

    texts: list[str]
    left: Ints  # [N] positions in texts
    right: Ints  # [N] positions in texts
    group: Ints  # [N] pairs of one ranking list share a number; numbered in order of first appearance
    label: Floats | None = None  # [N] higher is a better match; None where pairs are only to be scored
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
        """Columns of equal length make a table; ranking lists group by `left_id`, else by the left text."""
        labels = None if label is None else np.fromiter(label, np.float32)
        for name, column in (("right", right), ("label", labels), ("left_id", left_id), ("right_id", right_id)):
            if column is not None and len(column) != len(left):
                raise InputError(f"{name} has {len(column)} values and left has {len(left)}: give one for each pair.")
        place: dict[str, int] = {}
        lefts = _numbered(left, place)
        rights = _numbered(right, place)
        group = _numbered(left if left_id is None else left_id, {})
        return cls(
            list(place),
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
        """The labels, for whoever can't do without."""
        if self.label is None:
            raise InputError(
                f"These {len(self)} pairs have no labels: give a number for each, higher for a better match."
            )
        return self.label

    @property
    def lists(self) -> int:
        return len(np.unique(self.group))

    def digest(self) -> str:
        """What tells this table from others: a checksum of its texts, pairs, lists and labels."""
        found = hashlib.sha256("\n".join(self.texts).encode("utf-8", "surrogatepass"))
        for column in (self.left, self.right, self.group, self.label):
            found.update(b"" if column is None else column.tobytes())
        return found.hexdigest()

    def take(self, rows: Sequence[int] | NDArray[np.integer]) -> "Pairs":
        """The table of these rows, in this order."""
        at = np.asarray(rows, np.int64)
        used, places = _renumbered(np.concatenate([self.left[at], self.right[at]]))
        return Pairs(
            [self.texts[i] for i in used],
            places[: len(at)],
            places[len(at) :],
            _renumbered(self.group[at])[1],
            None if self.label is None else self.label[at],
            None if self.left_id is None else [self.left_id[i] for i in at],
            None if self.right_id is None else [self.right_id[i] for i in at],
        )


def _numbered(values: Iterable[str], place: dict[str, int]) -> Ints:
    return np.fromiter((place.setdefault(value, len(place)) for value in values), np.int32)


def _renumbered(numbers: Ints) -> tuple[Ints, Ints]:
    """The distinct numbers in order of first appearance, and every number's place among them."""
    distinct, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return distinct[order], rank[inverse]


def copies(texts: Sequence[str]) -> Ints:
    """A number for every text, the same for copies that differ in case or white space only."""
    place: dict[str, int] = {}
    return np.fromiter((place.setdefault(" ".join(t.split()).casefold(), len(place)) for t in texts), np.int32)
