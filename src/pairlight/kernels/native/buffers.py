"""Describes NumPy arrays to the C++ kernels: fields of a call, addresses, strides and memory layouts."""

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Blocks(NamedTuple):
    """The batch in blocks of similar size, so that each SIMD lane processes one text or pair of a block."""

    order: Array  # [B] the indices of the texts or pairs, block after block
    place: Array  # [blocks] where each block starts in the scratch buffer
    size: int  # number of elements of the scratch buffer


def pointers(*names: str) -> list[tuple[str, type[ctypes.c_void_p]]]:
    """Fields of a ctypes structure that contain addresses."""
    return [(name, ctypes.c_void_p) for name in names]


def numbers(*names: str) -> list[tuple[str, type[ctypes.c_int64]]]:
    """Fields of a ctypes structure that contain integers."""
    return [(name, ctypes.c_int64) for name in names]


def address(x: Array) -> int:
    """The address of the first element."""
    if x.flags.carray and x.size:
        return ctypes.addressof(ctypes.c_char.from_buffer(x.data))  # faster than x.ctypes
    return x.ctypes.data


def strides(x: Array) -> list[int]:
    """The strides of an array, in elements."""
    size = x.itemsize
    return [stride // size for stride in x.strides]


def strided(x: Array) -> Array:
    """The array itself if its elements are aligned and its strides are whole numbers of elements, otherwise a copy."""
    fits = x.flags.aligned and not any(stride % x.itemsize for stride in x.strides)
    return x if fits else np.array(x, order="C")


def rows_contiguous(x: Array) -> Array:
    """`strided`, and the elements along the last axis are contiguous."""
    return strided(x) if x.strides[-1] == x.itemsize else np.array(x, order="C")


def contiguous(x: Array) -> Array:
    """The array itself if it is aligned and contiguous, otherwise a copy."""
    return x if x.flags.c_contiguous and x.flags.aligned else np.array(x, order="C")


def aligned(rows: int, columns: int) -> Array:
    """An uninitialized array of float32 that starts at a multiple of 64 bytes, as vectors in memory do."""
    buffer = np.empty(rows * columns + 16, np.float32)
    first = -buffer.ctypes.data % 64 // 4
    return buffer[first : first + rows * columns].reshape(rows, columns)
