"""A folder of int8 vectors with ids: memory-mapped, incremental, and durable.

Data files only grow, and `commit.json`, replaced in one step, says how much of each is valid; what a crash has left
behind is not in it. Vectors of deleted documents are listed, and dropped when more than half are deleted.

The two halves of the vectors are in different files: in a large collection, only the first halves of all vectors are
read for a query, and the second halves of the best.
"""

import os
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.core.files import sync_folder
from pairlight.core.records import read_record, write_record
from pairlight.search.vector_rows import ARRAYS, HALF, VectorRows, hashes_of

FORMAT = 1
COMMIT = "commit.json"
COMPACT_FROM = 1000  # rows; fewer are not worth compacting


@dataclass(frozen=True)
class Committed:
    """How many bytes of each file are valid, and their checksums."""

    generation: int = 0  # part of the files' names; compaction begins the next
    bytes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ARRAYS, 0))
    crc32: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ARRAYS, 0))


class VectorStore:
    """Vectors by id; written by one process at a time, read by any number."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.committed = Committed()
        self.rows = self._mapped(self.committed)
        self._stamp: tuple[int, int] | None = None
        self.reload()
        if self._stamp is None:  # before the first data, so that a crash never leaves data without a commit
            self._commit(self.committed)

    def __len__(self) -> int:
        """How many vectors are not deleted."""
        return len(self.rows)

    def reload(self) -> None:
        """See what other processes have committed since."""
        try:
            self._reload()
        except InputError:  # a compaction has removed the files between reading the commit and mapping them
            self._reload()

    def append(self, ids: Sequence[str], vectors: NDArray[np.int8], scales: NDArray[np.float32]) -> None:
        """Add vectors; they replace those with the same ids."""
        encoded = [each.encode("utf-8") for each in ids]
        self._write(
            {
                "deleted": self.rows.find(ids).astype(np.uint32),
                "vectors": vectors[:, :HALF],
                "rest": vectors[:, HALF:],
                "scales": scales,
                "ids": np.frombuffer(b"".join(encoded), np.uint8),
                "lengths": np.array([len(each) for each in encoded], np.uint16),
                "hashes": hashes_of(encoded),
            }
        )

    def delete(self, ids: Sequence[str]) -> None:
        """Delete vectors; ids that are not there are ignored."""
        rows = self.rows.find(ids)
        if len(rows):
            self._write({"deleted": rows.astype(np.uint32)})

    def check(self) -> None:
        """Raise InputError if a file does not have the contents that were written."""
        self.reload()
        for name in ARRAYS:
            if zlib.crc32(self._array(name, self.committed).view(np.uint8).data) != self.committed.crc32[name]:
                raise self._damaged(f"{name}-{self.committed.generation}")

    def compact(self) -> None:
        """Write the vectors that are not deleted to new files, and remove the old ones."""
        rows, keep = self.rows, self.rows.live()
        parts = {
            "vectors": rows.first[keep],
            "rest": rows.rest[keep],
            "scales": rows.scales[keep],
            "ids": np.frombuffer("".join(map(rows.id_of, keep.tolist())).encode("utf-8"), np.uint8),
            "lengths": rows.lengths[keep],
            "hashes": rows.hashes[keep],
        }
        self._remove_other_generations()  # of a compaction that was interrupted
        self._write(parts, Committed(self.committed.generation + 1))
        self._remove_other_generations()  # a process that has mapped these keeps them until it reloads

    def _write(self, parts: dict[str, NDArray[Any]], base: Committed | None = None) -> None:
        """Append to the files of what is committed, or of another base, then commit."""
        base = base or self.committed
        sizes, checksums = dict(base.bytes), dict(base.crc32)
        for name, part in parts.items():
            content = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
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
        self._commit(committed)
        if COMPACT_FROM < len(self.rows.scales) < 2 * len(self.rows.deleted):
            self.compact()

    def _commit(self, committed: Committed) -> None:
        write_record(self.folder / COMMIT, asdict(committed), FORMAT)
        sync_folder(self.folder)
        self.reload()

    def _reload(self) -> None:
        path = self.folder / COMMIT
        try:
            status = path.stat()
        except FileNotFoundError:
            if any(self.folder.glob("*-*")):
                raise self._damaged(COMMIT) from None
            return
        stamp = status.st_mtime_ns, status.st_ino
        if stamp == self._stamp:
            return
        committed = read_record(path, Committed, FORMAT, "index the documents again")
        self.rows = self._mapped(committed)
        self.committed, self._stamp = committed, stamp

    def _mapped(self, committed: Committed) -> VectorRows:
        """The valid parts of all files."""
        try:
            return VectorRows({name: self._array(name, committed) for name in ARRAYS})
        except ValueError as error:
            raise error if isinstance(error, InputError) else self._damaged(COMMIT) from None

    def _array(self, name: str, committed: Committed) -> NDArray[Any]:
        size, kind = committed.bytes[name], np.dtype(ARRAYS[name])
        if not size:
            return np.zeros(0, kind)
        try:
            return np.memmap(self.folder / f"{name}-{committed.generation}", kind, "r", shape=(size // kind.itemsize,))
        except (OSError, ValueError):  # missing or too short
            raise self._damaged(f"{name}-{committed.generation}") from None

    def _remove_other_generations(self) -> None:
        for path in self.folder.glob("*-*"):
            if path.name != f"{path.name.partition('-')[0]}-{self.committed.generation}":
                path.unlink(missing_ok=True)

    def _damaged(self, name: str) -> InputError:
        return InputError(f"{self.folder / name} is damaged: index the documents again.")
