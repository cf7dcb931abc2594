"""The products of a vector with rows of 8-bit integers, on NumPy arrays: a scan of stored sentence vectors."""

import ctypes

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import address, contiguous, numbers, pointers

MAX_DIM = 512  # of a vector, so that the sums of 32 bits do not overflow
_LARGEST = 2**15 - 1
_BLOCK = 8192  # rows that the reference converts at a time: as fp32, they fit in the cache


class _Call(ctypes.Structure):
    """The same fields in the same order as `ByteProducts` in csrc/byte_products.hpp."""

    _fields_ = (*pointers("rows", "vector", "scales"), *numbers("count", "dim", "threads"), *pointers("out"))


def byte_products(
    rows: NDArray[np.int8], vector: NDArray[np.float32], scales: NDArray[np.float32]
) -> NDArray[np.float32]:
    """rows[N,D], vector[D], scales[N] -> scales · (rows vector)[N], the vector rounded to 16 bits."""
    check.dimensions("rows", rows, "ND")
    N, D = rows.shape
    check.shape("vector", vector, D)
    check.shape("scales", scales, N)
    if rows.dtype != np.int8 or D > MAX_DIM:
        raise InputError(f"rows has dtype {rows.dtype} and {D} columns: pass int8 and at most {MAX_DIM}.")
    native, largest = library.native(np.float32), float(np.abs(vector).max(initial=0))
    if native is None or not largest:
        return byte_products_reference(rows, vector, scales)
    unit = largest / _LARGEST
    integers = np.rint(vector / unit).astype(np.int16)
    out = np.empty(N, np.float32)
    rows, scales = contiguous(rows), contiguous(scales.astype(np.float32, copy=False))
    call = _Call(
        rows=address(rows),
        vector=address(integers),
        scales=address(scales),
        count=N,
        dim=D,
        threads=library.threads(),
        out=address(out),
    )
    native.run("byte_products", np.float32, call)
    out *= np.float32(unit)
    return out


def byte_products_reference(
    rows: NDArray[np.int8], vector: NDArray[np.float32], scales: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The reference implementation."""
    vector = np.ascontiguousarray(vector, np.float32)
    out = np.empty(len(rows), np.float32)
    block = np.empty((min(_BLOCK, max(1, len(rows))), len(vector)), np.float32)
    for at in range(0, len(rows), _BLOCK):
        part = rows[at : at + _BLOCK]
        np.copyto(block[: len(part)], part)
        np.dot(block[: len(part)], vector, out=out[at : at + _BLOCK])
    return out * scales
