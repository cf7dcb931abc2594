"""The largest cell of every pair of a segment of rows and a segment of columns of grids, on NumPy arrays."""

import ctypes

import numpy as np

from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import Array, address, contiguous, numbers, pointers
from pairlight.kernels.native.library import Native


class _Call(ctypes.Structure):
    """The same fields in the same order as `SegmentMax` in csrc/segment_max.hpp."""

    _fields_ = (
        *pointers("x", "i", "j"),
        *numbers("batch", "channels", "height", "width", "rows", "high", "columns", "wide", "threads"),
        *pointers("y", "at"),
    )


def segment_max(x: Array, i: Array, j: Array) -> Array:
    """x[B,C,L,R], row numbers i[B,P,W], column numbers j[B,Q,V] -> [B,C,P,Q], the largest x at any of i[p] and j[q].

    Row and column numbers are those of existing cells.
    """
    i, j = check.integers("i", i), check.integers("j", j)
    native = library.native(x.dtype)
    if native is None:
        return segment_max_reference(x, i, j)
    y = np.empty((*x.shape[:2], i.shape[1], j.shape[1]), x.dtype)
    segment_max_into(native, contiguous(x), i, j, y, None, threads=library.threads())
    return y


def segment_max_into(native: Native, x: Array, i: Array, j: Array, y: Array, at: Array | None, *, threads: int) -> None:
    """Write the largest cells to `y`, and their positions in the grid, row * R + column, to `at`.

    All arrays are contiguous. Of equal cells, it is the first one of the first column of `j`.
    """
    B, C, L, R = x.shape
    call = _Call(
        x=address(x),
        i=address(i),
        j=address(j),
        batch=B,
        channels=C,
        height=L,
        width=R,
        rows=i.shape[1],
        high=i.shape[2],
        columns=j.shape[1],
        wide=j.shape[2],
        threads=threads,
        y=address(y),
        at=None if at is None else address(at),
    )
    native.run("segment_max", x.dtype, call)


def segment_max_reference(x: Array, i: Array, j: Array) -> Array:
    """The reference implementation: one pair of texts at a time."""
    y = np.empty((*x.shape[:2], i.shape[1], j.shape[1]), x.dtype)
    for grid, rows, columns, out in zip(x, i, j, y, strict=True):
        cells = grid[:, rows[:, None, :, None], columns[None, :, None, :]]  # [C,P,Q,W,V]
        cells.max((-2, -1), out=out)
    return y
