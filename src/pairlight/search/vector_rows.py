"""Vectors by id as they were at one moment, and the search in them."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.kernels.native.byte_products import byte_products
from pairlight.search.sentence_vectors import DIM

HALF = DIM // 2
SAMPLED = 32  # one score of so many is looked at to find out how large the largest are
KEPT = 100  # halves that are kept for every vector that is wanted: finds 0.999 of the best 100 of a million texts

# The arrays and their types; ids are UTF-8 one after the other, and `deleted` has the numbers of rows.
ARRAYS: dict[str, Any] = {
    "vectors": np.int8,  # the first halves
    "rest": np.int8,  # the second halves
    "scales": np.float32,
    "ids": np.uint8,
    "lengths": np.uint16,
    "hashes": np.uint64,
    "deleted": np.uint32,
}

Rows = NDArray[np.int64]
Scores = NDArray[np.float32]


class VectorRows:
    """Rows of vectors with their ids; nothing changes, so that threads can search while others add."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Raise ValueError if the arrays do not fit together."""
        self.scales, self.deleted, self.hashes = arrays["scales"], arrays["deleted"], arrays["hashes"]
        self.ids, self.lengths = arrays["ids"], arrays["lengths"]
        rows = len(self.scales)
        self.first, self.rest = (arrays[name].reshape(-1, HALF) for name in ("vectors", "rest"))
        self.end = np.cumsum(self.lengths, dtype=np.int64)
        if any(len(each) != rows for each in (self.first, self.rest, self.lengths, self.hashes)):
            raise ValueError("arrays of different lengths")
        if len(self.ids) != (int(self.end[-1]) if rows else 0) or (len(self.deleted) and self.deleted.max() >= rows):
            raise ValueError("ids or deleted rows do not fit")

    def __len__(self) -> int:
        """How many vectors are not deleted."""
        return len(self.scales) - len(self.deleted)

    def id_of(self, row: int) -> str:
        return self._id(row).decode("utf-8")

    def find(self, ids: Sequence[str]) -> Rows:
        """The rows with these ids that are not deleted."""
        wanted = {each.encode("utf-8") for each in ids}
        found = np.flatnonzero(np.isin(self.hashes, hashes_of(list(wanted))))
        found = found[~np.isin(found, self.deleted)]
        return np.array([row for row in found.tolist() if self._id(row) in wanted], np.int64)

    def live(self) -> Rows:
        """The rows that are not deleted."""
        kept = np.ones(len(self.scales), bool)
        kept[self.deleted] = False
        return np.flatnonzero(kept)

    def search(
        self, vector: NDArray[np.float32], k: int, among: Sequence[str] | None = None
    ) -> list[tuple[str, float]]:
        """The ids of the k highest cosines with a vector of length 1, highest first, with their cosines.

        In a large collection, only the first halves of all vectors are read, and the second halves of the best. With
        `among`, only these ids are searched.
        """
        if among is not None:
            rows = self.find(among)
        elif KEPT * k < len(self.scales) // 2:
            halves = byte_products(self.first, vector[:HALF], self.scales)
            halves[self.deleted] = -np.inf
            rows = np.sort(_largest(halves, min(KEPT * k, len(self))))
        else:
            rows = self.live()
        if len(rows) == len(self.scales):
            first, rest, scales = self.first, self.rest, self.scales
        else:
            first, rest, scales = self.first[rows], self.rest[rows], self.scales[rows]
        scores = byte_products(first, vector[:HALF], scales) + byte_products(rest, vector[HALF:], scales)
        best = _largest(scores, min(k, len(rows)))
        best = best[np.argsort(-scores[best], kind="stable")]
        return [(self.id_of(int(rows[i])), float(scores[i])) for i in best]

    def _id(self, row: int) -> bytes:
        end = int(self.end[row])
        return self.ids[end - int(self.lengths[row]) : end].tobytes()


def hashes_of(ids: Sequence[bytes]) -> NDArray[np.uint64]:
    """Hashes of ids, to find the row of an id without holding all ids in memory."""
    digests = b"".join(hashlib.blake2b(each, digest_size=8).digest() for each in ids)
    return np.frombuffer(digests, np.uint64)


def _largest(scores: Scores, k: int) -> Rows:
    """The places of the k largest scores, in no particular order."""
    if not k:
        return np.zeros(0, np.int64)
    if len(scores) > SAMPLED * k:  # only those that may be among them are compared with one another
        sample = scores[::SAMPLED]
        few = min(len(sample), 2 * k // SAMPLED + 10)
        likely = np.flatnonzero(scores >= np.partition(sample, len(sample) - few)[len(sample) - few])
        if len(likely) >= k:
            return likely[_largest_of(scores[likely], k)]
    return _largest_of(scores, k)


def _largest_of(scores: Scores, k: int) -> Rows:
    return np.argpartition(scores, len(scores) - k)[len(scores) - k :]
