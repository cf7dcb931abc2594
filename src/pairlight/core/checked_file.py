"""Arrays in one safetensors file that is mapped into memory, with checksums of its header and of its blocks."""

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.core.files import atomic_write

BLOCK = 2**18  # bytes that have a checksum of their own
CHECKSUMS = "checksums"  # of the header, of every block of the arrays before it, and of all these
_KINDS = {"<f4": "F32", "<f2": "F16", "|i1": "I8", "<i4": "I32", "<i8": "I64", "|u1": "U8"}
_NUMBERS = {name: np.dtype(kind) for kind, name in _KINDS.items()}

Array = NDArray[Any]


class DamagedFileError(Exception):
    """The file is not what was written."""


class CheckedFile:
    """The arrays of a file. A block is compared with its checksum when one of its bytes is first read by `check`."""

    def __init__(self, path: Path) -> None:
        """Map the file and check its size, its header and its checksums; raises DamagedFileError or OSError."""
        self.path = path
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= size - 8:
                raise DamagedFileError
            head = file.read(length)
        try:
            header = json.loads(head)
            self.about: Mapping[str, Any] = header.pop("__metadata__")
            self._base = 8 + length
            self._offsets: dict[str, int] = {}
            end = 0
            for name, entry in header.items():
                kind, shape = _NUMBERS[entry["dtype"]], entry["shape"]
                count = 1
                for each in shape:
                    if not isinstance(each, int) or each < 0:
                        raise DamagedFileError
                    count *= each
                if entry["data_offsets"] != [end, end + kind.itemsize * count] or end % kind.itemsize:
                    raise DamagedFileError
                self._offsets[name] = end
                end += kind.itemsize * count
            if end != size - self._base:
                raise DamagedFileError
            self._bytes = np.memmap(path, np.uint8, "r", self._base, (end,)) if end else np.zeros(0, np.uint8)
            self.arrays = {name: self._mapped(name, entry) for name, entry in header.items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise DamagedFileError from None
        self._check_checksums(head)

    def check(self, name: str, first: int = 0, end: int | None = None) -> None:
        """Check the blocks that have rows `first` to `end` of an array; raises DamagedFileError."""
        array = self.arrays[name]
        if not array.size:
            return
        row = array.nbytes // len(array)
        start = self._offsets[name]
        stop = start + (len(array) if end is None else end) * row
        start += first * row
        blocks = slice(start // BLOCK, -(-stop // BLOCK))
        if self._checked[blocks].all():
            return
        for block in (np.flatnonzero(~self._checked[blocks]) + blocks.start).tolist():
            content = self._bytes[block * BLOCK : min((block + 1) * BLOCK, self._offsets[CHECKSUMS])]
            if zlib.crc32(content.data) != self._sums[block]:
                raise DamagedFileError
            self._checked[block] = True

    def _check_checksums(self, head: bytes) -> None:
        sums = self.arrays.get(CHECKSUMS)
        if sums is None or sums.ndim != 1 or sums.dtype != np.uint8:
            raise DamagedFileError
        blocks = -(-self._offsets[CHECKSUMS] // BLOCK)
        if len(sums) != 4 * (blocks + 2) or list(self._offsets)[-1] != CHECKSUMS:
            raise DamagedFileError
        sums = np.frombuffer(sums.tobytes(), "<u4")
        if zlib.crc32(sums[:-1].data) != sums[-1] or zlib.crc32(head) != sums[0]:
            raise DamagedFileError
        self._sums, self._checked = sums[1:-1], np.zeros(blocks, np.bool_)

    def _mapped(self, name: str, entry: Mapping[str, Any]) -> Array:
        kind, shape = _NUMBERS[entry["dtype"]], tuple(entry["shape"])
        if 0 in shape:
            return np.zeros(shape, kind)
        # Copy on write: PyTorch needs writable arrays, and the file must not change.
        return np.memmap(self.path, kind, "c", self._base + self._offsets[name], shape)


def write_checked(path: Path, about: Mapping[str, str], arrays: Mapping[str, Array]) -> None:
    """Write arrays and a description of them, atomically; arrays of wide numbers first, so that all are aligned."""
    ordered = {name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays, key=lambda n: -arrays[n].itemsize)}
    sums = np.zeros(2 - (-sum(array.nbytes for array in ordered.values()) // BLOCK), "<u4")
    header: dict[str, Any] = {"__metadata__": dict(about)}
    end = 0
    ordered[CHECKSUMS] = sums.view(np.uint8)
    for name, array in ordered.items():
        offsets = [end, end + array.nbytes]
        header[name] = {"dtype": _KINDS[array.dtype.str], "shape": array.shape, "data_offsets": offsets}
        end += array.nbytes
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    del ordered[CHECKSUMS]
    with atomic_write(path) as file:
        file.write(len(head).to_bytes(8, "little") + head)
        at = 0
        for array in ordered.values():
            content = array.data.cast("B") if array.size else memoryview(b"")
            while len(content):
                part = content[: BLOCK - at % BLOCK]
                sums[1 + at // BLOCK] = zlib.crc32(part, int(sums[1 + at // BLOCK]))
                file.write(part)
                at += len(part)
                content = content[len(part) :]
        sums[0] = zlib.crc32(head)
        sums[-1] = zlib.crc32(sums[:-1].data)
        file.write(sums.data)
