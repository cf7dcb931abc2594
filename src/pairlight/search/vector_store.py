"""A folder of int8 vectors with ids: memory-mapped, incremental, and durable.

Data files only grow, and `commit.json`, replaced in one step, says how much of each is valid; what a crash has left
behind is not in it. Vectors of deleted documents are listed, and dropped when more than half are deleted.

The two halves of the vectors are in different files: in a large collection, only the first halves of all vectors are
read for a query, and the second halves of the best.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.core.files import sync_folder, write_json
from pairlight.core.records import decode
from pairlight.search.sentence_vectors import DIM

FORMAT = 1
COMMIT = "commit.json"
COMPACT_FROM = 1000  # rows; fewer are not worth compacting
HALF = DIM // 2
BLOCK = 8192  # rows scored at a time: as fp32, they fit in the cache
KEPT = 100  # halves that are kept for every vector that is wanted: finds 0.999 of the best 100 of a million texts

# The data files and their types; ids are UTF-8 one after the other, and `deleted` has the numbers of rows.
FILES: dict[str, Any] = {
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


@dataclass(frozen=True)
class Committed:
    """How many bytes of each file are valid, and their checksums."""

    generation: int = 0  # part of the files' names; compaction begins the next
    bytes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FILES, 0))
    crc32: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FILES, 0))

    def digest(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


class VectorStore:
    """Vectors by id; written by one process at a time, read by any number."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._stamp: tuple[int, int] | None = None
        self.committed = Committed()
        self._arrays: dict[str, NDArray[Any]] = {}
        self._end: Rows = np.zeros(0, np.int64)  # where the id of each row ends
        self._map()
        self.reload()

    def __len__(self) -> int:
        """How many vectors are not deleted."""
        return len(self._arrays["scales"]) - len(self._arrays["deleted"])

    def reload(self) -> None:
        """See what other processes have committed since."""
        try:
            self._reload()
        except InputError:  # a compaction has removed the files between reading the commit and mapping them
            self._reload()

    def _reload(self) -> None:
        path = self.folder / COMMIT
        try:
            status = path.stat()
            stamp = status.st_mtime_ns, status.st_ino
            if stamp == self._stamp:
                return
            record = json.loads(path.read_bytes())
            if record.pop("format") != FORMAT:
                raise InputError(f"{path} has another format than {FORMAT}: index the documents again.")
            digest = record.pop("sha256")
            committed = decode(Committed, record, COMMIT)
            if digest != committed.digest():
                raise ValueError
        except FileNotFoundError:
            if any(self.folder.glob("*-*")):
                raise self._damaged(COMMIT) from None
            return
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise error if isinstance(error, InputError) else self._damaged(COMMIT) from None
        self.committed = committed
        self._map()
        self._stamp = stamp

    def append(self, ids: Sequence[str], vectors: NDArray[np.int8], scales: NDArray[np.float32]) -> None:
        """Add vectors; they replace those with the same ids."""
        encoded = [each.encode("utf-8") for each in ids]
        self._write(
            {
                "deleted": self.rows_of(ids).astype(np.uint32),
                "vectors": vectors[:, :HALF],
                "rest": vectors[:, HALF:],
                "scales": scales,
                "ids": np.frombuffer(b"".join(encoded), np.uint8),
                "lengths": np.array([len(each) for each in encoded], np.uint16),
                "hashes": _hashes(encoded),
            }
        )

    def delete(self, ids: Sequence[str]) -> None:
        """Delete vectors; ids that are not there are ignored."""
        rows = self.rows_of(ids)
        if len(rows):
            self._write({"deleted": rows.astype(np.uint32)})

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """The rows with these ids that are not deleted."""
        wanted = {each.encode("utf-8") for each in ids}
        found = np.flatnonzero(np.isin(self._arrays["hashes"], _hashes(list(wanted))))
        found = found[~np.isin(found, self._arrays["deleted"])]
        return np.array([row for row in found.tolist() if self._id(row) in wanted], np.int64)

    def id_of(self, row: int) -> str:
        return self._id(row).decode("utf-8")

    def search(self, vector: NDArray[np.float32], k: int, among: Rows | None = None) -> tuple[Rows, Scores]:
        """The k rows of highest cosine with a vector of length 1, highest first, and their cosines.

        Deleted rows are never found. With `among`, only these rows are searched, and all of their halves are read; so
        are those of a small collection.
        """
        if among is None and KEPT * k < len(self._arrays["scales"]) // 2:
            halves = self._dot("vectors", vector[:HALF]) * self._arrays["scales"]
            halves[self._arrays["deleted"]] = -np.inf
            among = np.sort(_largest(halves, KEPT * k))
        elif among is None:
            among = np.arange(len(self._arrays["scales"]))
        scores = self._cosines(vector, among)
        scores[np.isin(among, self._arrays["deleted"])] = -np.inf
        best = _largest(scores, min(k, int(np.isfinite(scores).sum())))
        best = best[np.argsort(-scores[best], kind="stable")]
        return among[best], scores[best]

    def _cosines(self, vector: NDArray[np.float32], rows: Rows) -> Scores:
        if len(rows) == len(self._arrays["scales"]):
            whole = self._dot("vectors", vector[:HALF]) + self._dot("rest", vector[HALF:])
        else:
            whole = self._arrays["vectors"][rows].astype(np.float32) @ vector[:HALF]
            whole += self._arrays["rest"][rows].astype(np.float32) @ vector[HALF:]
        scores: Scores = whole * self._arrays["scales"][rows]
        return scores

    def _dot(self, name: str, half: NDArray[np.float32]) -> Scores:
        """The products of half a vector with the same half of every row."""
        rows, half = self._arrays[name], np.ascontiguousarray(half)
        products = np.empty(len(rows), np.float32)
        block = np.empty((min(BLOCK, max(1, len(rows))), HALF), np.float32)
        for at in range(0, len(rows), BLOCK):
            part = rows[at : at + BLOCK]
            np.copyto(block[: len(part)], part)
            np.dot(block[: len(part)], half, out=products[at : at + BLOCK])
        return products

    def check(self) -> None:
        """Raise InputError if a file does not have the contents that were written."""
        for name, array in self._arrays.items():
            if zlib.crc32(array.reshape(-1).view(np.uint8).data) != self.committed.crc32[name]:
                raise self._damaged(self._path(name).name)

    def compact(self) -> None:
        """Write the vectors that are not deleted to new files, and remove the old ones."""
        keep = np.setdiff1d(np.arange(len(self._arrays["scales"])), self._arrays["deleted"])
        ids = [self._id(row) for row in keep.tolist()]
        old = [self._path(name) for name in FILES]
        parts = {
            "vectors": self._arrays["vectors"][keep],
            "rest": self._arrays["rest"][keep],
            "scales": self._arrays["scales"][keep],
            "ids": np.frombuffer(b"".join(ids), np.uint8),
            "lengths": self._arrays["lengths"][keep],
            "hashes": self._arrays["hashes"][keep],
        }
        for stale in self.folder.glob(f"*-{self.committed.generation + 1}"):  # of a compaction that was interrupted
            stale.unlink()
        self._write(parts, Committed(self.committed.generation + 1))
        for path in old:  # a process that has mapped one keeps it until it reloads
            path.unlink(missing_ok=True)

    def _write(self, parts: dict[str, NDArray[Any]], base: Committed | None = None) -> None:
        """Append to the files of what is committed, or of another base, then commit."""
        base = base or self.committed
        sizes, checksums = dict(base.bytes), dict(base.crc32)
        for name in FILES:
            content = np.ascontiguousarray(parts.get(name, np.zeros(0, FILES[name]))).reshape(-1).view(np.uint8)
            if not len(content):
                continue
            path = self.folder / f"{name}-{base.generation}"
            with path.open("r+b" if path.exists() else "w+b") as file:
                file.truncate(sizes[name])  # what a crash has left behind
                file.seek(sizes[name])
                file.write(content.data)
                file.flush()
                os.fsync(file.fileno())
            sizes[name] += len(content)
            checksums[name] = zlib.crc32(content.data, checksums[name])
        committed = replace(base, bytes=sizes, crc32=checksums)
        write_json(self.folder / COMMIT, {"format": FORMAT, **asdict(committed), "sha256": committed.digest()})
        sync_folder(self.folder)
        self.reload()
        if COMPACT_FROM < len(self._arrays["scales"]) < 2 * len(self._arrays["deleted"]):
            self.compact()

    def _map(self) -> None:
        """Map the valid part of every file."""
        for name, kind in FILES.items():
            size, path = self.committed.bytes[name], self._path(name)
            if not size:
                self._arrays[name] = np.zeros(0, kind)
                continue
            try:
                self._arrays[name] = np.memmap(path, kind, "r", shape=(size // np.dtype(kind).itemsize,))
            except (OSError, ValueError):  # missing or too short
                raise self._damaged(path.name) from None
        rows = len(self._arrays["scales"])
        whole = all(len(self._arrays[name]) == rows * HALF for name in ("vectors", "rest"))
        self._end = np.cumsum(self._arrays["lengths"], dtype=np.int64)
        held = int(self._end[-1]) if rows else 0
        whole = whole and all(len(self._arrays[name]) == rows for name in ("lengths", "hashes"))
        if not whole or held != len(self._arrays["ids"]):
            raise self._damaged(COMMIT)
        for name in ("vectors", "rest"):
            self._arrays[name] = self._arrays[name].reshape(rows, HALF)

    def _id(self, row: int) -> bytes:
        end = int(self._end[row])
        return self._arrays["ids"][end - int(self._arrays["lengths"][row]) : end].tobytes()

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}-{self.committed.generation}"

    def _damaged(self, name: str) -> InputError:
        return InputError(f"{self.folder / name} is damaged: index the documents again.")


def _hashes(ids: Sequence[bytes]) -> NDArray[np.uint64]:
    """Hashes of ids, to find the row of an id without holding all ids in memory."""
    digests = b"".join(hashlib.blake2b(each, digest_size=8).digest() for each in ids)
    return np.frombuffer(digests, np.uint64)


def _largest(scores: Scores, k: int) -> Rows:
    """The places of the k largest scores, in no particular order."""
    return np.argpartition(scores, len(scores) - k)[len(scores) - k :] if k else np.zeros(0, np.int64)
