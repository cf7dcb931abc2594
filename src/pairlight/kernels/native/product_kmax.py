"""The k largest cells of products of two texts, found without storing the products, on NumPy arrays."""

import ctypes

import numpy as np

from pairlight.core.errors import InputError
from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import Array, address, numbers, pointers, rows_contiguous, strided, strides
from pairlight.kernels.native.kmax import largest_cells
from pairlight.kernels.native.library import Native


class _Call(ctypes.Structure):
    """The same fields in the same order as `ProductKMax` in csrc/product_kmax.hpp."""

    _fields_ = (
        *pointers("u"),
        *numbers("u_text", "u_word", "u_channel"),
        *pointers("v"),
        *numbers("v_text", "v_word", "v_channel"),
        *pointers("offset"),
        *numbers("offset_text", "offset_word", "offset_channel"),
        *pointers("left", "right"),
        *numbers("lefts", "pairs", "channels", "dim", "columns", "k", "relu", "threads"),
        *pointers("values", "positions"),
    )


def product_kmax(
    u: Array,
    v: Array,
    left_lengths: Array,
    right_lengths: Array,
    k: int,
    *,
    offset: Array | None = None,
    relu: bool = False,
) -> tuple[Array, Array]:
    """`kmax` of s[n·B,C,L,R] = relu(u·v + offset) for u[B,L,C,D], v[n·B,R,C,D] or v[n·B,R,1,D], and offset[B,L,C].

    Right text r is paired with left text r mod B. Without `relu`, s is the sum itself.
    """
    check_shapes(u, v, k, offset)
    check.floating(u=u, v=v)
    if offset is not None:
        check.floating(u=u, offset=offset)
    B, L, C, _ = u.shape
    pairs, R = v.shape[:2]
    left = check.lengths("left_lengths", left_lengths, B, L)
    right = check.lengths("right_lengths", right_lengths, pairs, R)
    native = library.native(u.dtype)
    if native is None:
        return product_kmax_reference(u, v, left, right, k, offset, relu)
    u, v, offset = rows_contiguous(u), rows_contiguous(v), None if offset is None else strided(offset)
    values, positions = np.empty((pairs, C, k), u.dtype), np.empty((pairs, C, k), np.int64)
    product_kmax_into(native, u, v, left, right, offset, relu, values, positions, threads=library.threads())
    return values, positions


def check_shapes(u: check.Shaped, v: check.Shaped, k: int, offset: check.Shaped | None) -> None:
    """Check the shapes of the texts and of the offset, NumPy arrays or PyTorch tensors, and k."""
    check.dimensions("u", u, "BLCD")
    check.dimensions("v", v, "BRCD")
    B, L, C, D = u.shape
    pairs, R, v_channels, _ = v.shape
    if C < 1 or k < 1:
        raise InputError(f"u has {C} channels and k is {k}: pass at least 1 channel and k of at least 1.")
    check.right_texts(pairs, B)
    check.shape("v", v, pairs, R, C if v_channels > 1 else 1, D)
    if offset is not None:
        check.shape("offset", offset, B, L, C)


@np.errstate(over="ignore", invalid="ignore")
def product_kmax_reference(
    u: Array, v: Array, left: Array, right: Array, k: int, offset: Array | None, relu: bool
) -> tuple[Array, Array]:
    """The reference implementation: computes the grid of each pair, then sorts its cells."""
    C = u.shape[2]
    pairs, R = v.shape[:2]
    values, positions = np.zeros((pairs, C, k), u.dtype), np.full((pairs, C, k), -1, np.int64)
    for pair in range(pairs):
        at = pair % len(u)
        m, n = left[at], right[pair]
        s = u[at, :m].transpose(1, 0, 2) @ v[pair, :n].transpose(1, 2, 0)  # [C,m,n]
        if offset is not None:
            s += offset[at, :m].T[..., None]
        largest_cells(np.maximum(s, 0) if relu else s, R, values[pair], positions[pair])
    return values, positions


def product_kmax_into(
    native: Native,
    u: Array,
    v: Array,
    left: Array,
    right: Array,
    offset: Array | None,
    relu: bool,
    values: Array,
    positions: Array,
    *,
    threads: int,
) -> None:
    """Write the largest cells of the products to values[n·B,C,k] and positions[n·B,C,k].

    The last axes of `u` and `v` are contiguous, and so are all other arrays but `offset`.
    """
    u_text, u_word, u_channel, _ = strides(u)
    v_text, v_word, v_channel, _ = strides(v)
    offset_text, offset_word, offset_channel = (0, 0, 0) if offset is None else strides(offset)
    lefts, _, channels, dim = u.shape
    pairs, columns, v_channels, _ = v.shape
    call = _Call(
        u=address(u),
        u_text=u_text,
        u_word=u_word,
        u_channel=u_channel,
        v=address(v),
        v_text=v_text,
        v_word=v_word,
        v_channel=0 if v_channels == 1 else v_channel,
        offset=None if offset is None else address(offset),
        offset_text=offset_text,
        offset_word=offset_word,
        offset_channel=offset_channel,
        left=address(left),
        right=address(right),
        lefts=lefts,
        pairs=pairs,
        channels=channels,
        dim=dim,
        columns=columns,
        k=values.shape[2],
        relu=relu,
        threads=threads,
        values=address(values),
        positions=address(positions),
    )
    native.run("product_kmax", u.dtype, call)
