"""The largest cells of products of two texts: of every row, of every column, and the k largest, on NumPy arrays."""

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pairlight.core.errors import InputError
from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import Array, address, numbers, pointers, rows_contiguous, strides
from pairlight.kernels.native.kmax import largest_cells
from pairlight.kernels.native.library import Native


class ProductInputs(NamedTuple):
    """The texts; the last axes of `u` and `v` are contiguous, and so are the lengths."""

    u: Array  # [B,L,D] left texts
    v: Array  # [n·B,R,D] right texts
    left: Array  # [B] lengths
    right: Array  # [n·B]


class ProductMax(NamedTuple):
    """The largest cells, as NumPy arrays or PyTorch tensors. A cell that does not exist is 0, and its position -1."""

    rows: Any  # [n·B,L] the largest cell of each row
    row_positions: Any  # [n·B,L] its column
    columns: Any  # [n·B,R] the largest cell of each column
    column_positions: Any  # [n·B,R] its row
    values: Any  # [n·B,k] the k largest cells of the grid, largest first
    positions: Any  # [n·B,k] row * R + column


class _Call(ctypes.Structure):
    """The same fields in the same order as `ProductMax` in csrc/product_max.hpp."""

    _fields_ = (
        *pointers("u"),
        *numbers("u_text", "u_word"),
        *pointers("v"),
        *numbers("v_text", "v_word"),
        *pointers("left", "right"),
        *numbers("lefts", "pairs", "left_words", "right_words", "dim", "k", "threads"),
        *pointers(*ProductMax._fields),
        *pointers("d_rows", "d_columns", "d_values", "d_u", "d_v"),
    )


def product_max(u: Array, v: Array, left_lengths: Array, right_lengths: Array, k: int) -> ProductMax:
    """The largest cells of s[n·B,L,R] = u·v for u[B,L,D] and v[n·B,R,D]; k may be 0.

    Right text r is paired with left text r mod B. Of equal cells, the first is found. NaN counts as infinity.
    """
    check_shapes(u, v, k)
    check.floating(u=u, v=v)
    left = check.lengths("left_lengths", left_lengths, *u.shape[:2])
    right = check.lengths("right_lengths", right_lengths, *v.shape[:2])
    native = library.native(u.dtype)
    if native is None:
        return product_max_reference(u, v, left, right, k)
    found = _empty(u, v, k)
    inputs = ProductInputs(rows_contiguous(u), rows_contiguous(v), left, right)
    product_max_into(native, inputs, found, threads=library.threads())
    return found


def check_shapes(u: check.Shaped, v: check.Shaped, k: int) -> None:
    """Check the shapes of the texts, NumPy arrays or PyTorch tensors, and k."""
    check.dimensions("u", u, "BLD")
    check.dimensions("v", v, "BRD")
    if k < 0:
        raise InputError(f"k is {k}: pass 0 or more.")
    check.right_texts(v.shape[0], u.shape[0])
    check.shape("v", v, *v.shape[:2], u.shape[2])


def _empty(u: Array, v: Array, k: int) -> ProductMax:
    pairs = len(v)
    sizes = [n for n in (u.shape[1], v.shape[1], k) for _ in range(2)]
    dtypes = [u.dtype, np.dtype(np.int64)] * 3
    return ProductMax(*(np.empty((pairs, n), dtype) for n, dtype in zip(sizes, dtypes, strict=True)))


@np.errstate(over="ignore", invalid="ignore")
def product_max_reference(u: Array, v: Array, left: Array, right: Array, k: int) -> ProductMax:
    """The reference implementation: computes the grid of each pair, then sorts its cells."""
    found = _empty(u, v, k)
    for array, absent in zip(found, [0, -1] * 3, strict=True):
        array.fill(absent)
    for pair, words in enumerate(v):
        at = pair % len(u)
        m, n = left[at], right[pair]
        if m and n:
            s = u[at, :m] @ words[:n].T
            # In a grid of one column, the position of a cell is its row.
            largest_cells(s[..., None], 1, found.rows[pair, :m, None], found.row_positions[pair, :m, None])
            largest_cells(s.T[..., None], 1, found.columns[pair, :n, None], found.column_positions[pair, :n, None])
            largest_cells(s[None], v.shape[1], found.values[pair, None], found.positions[pair, None])
    return found


def product_max_into(native: Native, inputs: ProductInputs, found: ProductMax, *, threads: int) -> None:
    """Write the largest cells of the products to `found`, whose arrays are contiguous."""
    native.run("product_max", inputs.u.dtype, _call(inputs, found, threads))


def product_max_backward(
    native: Native,
    inputs: ProductInputs,
    found: ProductMax,
    gradients: Sequence[Array | None],
    d_u: Array | None,
    d_v: Array | None,
    *,
    threads: int,
) -> None:
    """Write the gradients of `u` and `v`, those that are not None, from the gradients of rows, columns and values.

    A gradient of None is zero. All arrays but the inputs are contiguous.
    """
    call = _call(inputs, found, threads)
    call.d_rows, call.d_columns, call.d_values, call.d_u, call.d_v = (
        None if x is None else address(x) for x in (*gradients, d_u, d_v)
    )
    native.run("product_max_backward", inputs.u.dtype, call)


def _call(inputs: ProductInputs, found: ProductMax, threads: int) -> _Call:
    u, v, left, right = inputs
    u_text, u_word, _ = strides(u)
    v_text, v_word, _ = strides(v)
    lefts, left_words, dim = u.shape
    pairs, right_words, _ = v.shape
    return _Call(
        u=address(u),
        u_text=u_text,
        u_word=u_word,
        v=address(v),
        v_text=v_text,
        v_word=v_word,
        left=address(left),
        right=address(right),
        lefts=lefts,
        pairs=pairs,
        left_words=left_words,
        right_words=right_words,
        dim=dim,
        k=found.values.shape[1],
        threads=threads,
        **{name: address(x) for name, x in found._asdict().items()},
    )
