"""The k largest cells of each channel of grids of different sizes, on NumPy arrays."""

import ctypes

import numpy as np

from pairlight.core.errors import InputError
from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import Array, address, numbers, pointers, rows_contiguous, strides
from pairlight.kernels.native.library import Native


class _Call(ctypes.Structure):
    """The same fields in the same order as `KMax` in csrc/kmax.hpp."""

    _fields_ = (
        *pointers("s"),
        *numbers("s_pair", "s_channel", "s_row"),
        *pointers("left", "right"),
        *numbers("pairs", "channels", "columns", "k", "threads"),
        *pointers("values", "positions"),
    )


def kmax(s: Array, left_lengths: Array, right_lengths: Array, k: int) -> tuple[Array, Array]:
    """s[B,C,L,R] -> values[B,C,k], largest first, and positions[B,C,k] in the grid: row * R + column.

    Equal cells are ordered by their positions. NaN counts as infinity. Where a pair has fewer than k cells, the
    remaining values are 0 and their positions -1.
    """
    check_shapes(s, k)
    check.floating(s=s)
    B, C, L, R = s.shape
    left = check.lengths("left_lengths", left_lengths, B, L)
    right = check.lengths("right_lengths", right_lengths, B, R)
    native = library.native(s.dtype)
    if native is None:
        return kmax_reference(s, left, right, k)
    values, positions = np.empty((B, C, k), s.dtype), np.empty((B, C, k), np.int64)
    kmax_into(native, rows_contiguous(s), left, right, values, positions, threads=library.threads())
    return values, positions


def check_shapes(s: check.Shaped, k: int) -> None:
    """Check the shape of the grid, a NumPy array or a PyTorch tensor, and k."""
    check.dimensions("s", s, "BCLR")
    if k < 1:
        raise InputError(f"k is {k}: pass 1 or more.")


def kmax_reference(s: Array, left: Array, right: Array, k: int) -> tuple[Array, Array]:
    """The reference implementation: sorts all cells of a pair."""
    B, C, _, R = s.shape
    values, positions = np.zeros((B, C, k), s.dtype), np.full((B, C, k), -1, np.int64)
    for b in range(B):
        largest_cells(s[b, :, : left[b], : right[b]], R, values[b], positions[b])
    return values, positions


def largest_cells(s: Array, columns: int, values: Array, positions: Array) -> None:
    """Write the largest cells of s[C,m,n] to values[C,k] and positions[C,k], in a grid of so many columns."""
    C, m, n = s.shape
    cells = s.reshape(C, m * n)
    best = np.where(np.isnan(cells), -np.inf, -cells).argsort(axis=-1, kind="stable")[:, : values.shape[1]]
    found = best.shape[1]
    if found:
        values[:, :found] = np.take_along_axis(cells, best, -1)
        positions[:, :found] = best // n * columns + best % n


def kmax_into(
    native: Native, s: Array, left: Array, right: Array, values: Array, positions: Array, *, threads: int
) -> None:
    """Write the largest cells of s[B,C,L,R] to values[B,C,k] and positions[B,C,k].

    The last axis of `s` is contiguous, and so are all other arrays.
    """
    s_pair, s_channel, s_row, _ = strides(s)
    pairs, channels, _, columns = s.shape
    call = _Call(
        s=address(s),
        s_pair=s_pair,
        s_channel=s_channel,
        s_row=s_row,
        left=address(left),
        right=address(right),
        pairs=pairs,
        channels=channels,
        columns=columns,
        k=values.shape[2],
        threads=threads,
        values=address(values),
        positions=address(positions),
    )
    native.run("kmax", s.dtype, call)
