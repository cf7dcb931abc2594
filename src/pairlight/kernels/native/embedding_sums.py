"""Sums of rows of a table, such as the vectors of the n-grams of a word, on NumPy arrays."""

import ctypes

import numpy as np

from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import Array, address, contiguous, numbers, pointers


class _Call(ctypes.Structure):
    """The same fields in the same order as `EmbeddingSums` in csrc/embedding_sums.hpp."""

    _fields_ = (
        *pointers("table", "ids"),
        *numbers("rows", "dim", "count", "most", "padding", "threads"),
        *pointers("sums"),
    )


def embedding_sums(table: Array, ids: Array, padding_id: int) -> Array:
    """table[rows,D], ids[U,P] -> [U,D], the sum of the rows with these ids, without those of padding."""
    check.dimensions("table", table, "ND")
    check.dimensions("ids", ids, "UP")
    native = library.native(table.dtype)
    if native is None:
        return embedding_sums_reference(table, ids, padding_id)
    table, ids = contiguous(table), contiguous(np.asarray(ids, np.int32))
    sums = np.empty((len(ids), table.shape[1]), table.dtype)
    call = _Call(
        table=address(table),
        ids=address(ids),
        rows=len(table),
        dim=table.shape[1],
        count=len(ids),
        most=ids.shape[1],
        padding=padding_id,
        threads=library.threads(),
        sums=address(sums),
    )
    native.run("embedding_sums", table.dtype, call)
    return sums


def embedding_sums_reference(table: Array, ids: Array, padding_id: int) -> Array:
    """The reference implementation: one column of ids at a time."""
    sums = np.zeros((len(ids), table.shape[1]), table.dtype)
    for column in ids.T:
        known = np.flatnonzero(column != padding_id)
        sums[known] += table[column[known]]
    return sums
