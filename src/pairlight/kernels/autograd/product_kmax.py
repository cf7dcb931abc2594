"""The k largest cells of a grid that is a product of two texts, found without writing the grid and without gradient."""

import ctypes

import torch
from torch import Tensor

from pairlight.core.errors import InputError
from pairlight.kernels.autograd import check
from pairlight.kernels.autograd.kmax import kmax_reference
from pairlight.kernels.native.library import Native, native_for, numbers, pointers


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


@torch.no_grad()
def product_kmax(
    u: Tensor,
    v: Tensor,
    left_lengths: Tensor,
    right_lengths: Tensor,
    k: int,
    *,
    offset: Tensor | None = None,
    relu: bool = False,
) -> tuple[Tensor, Tensor]:
    """`kmax` of s[n·B,C,L,R] = relu(u·v + offset) for u[B,L,C,D], v[n·B,R,C,D] or v[n·B,R,1,D], offset[B,L,C].

    Right text r faces left text r mod B. Without `relu` the sum stays as it is.
    """
    check.dimensions("u", u, "BLCD")
    check.dimensions("v", v, "BRCD")
    B, L, C, D = u.shape
    pairs, R = v.shape[:2]
    check.floating(u=u, v=v)
    if C < 1 or k < 1:
        raise InputError(f"There are {C} channels and k is {k}: give 1 or more of each.")
    if pairs % B if B else pairs:
        raise InputError(f"{pairs} right texts can't face {B} left ones: give the same number, or a multiple of it.")
    check.shape("v", v, pairs, R, C if v.shape[2] > 1 else 1, D)
    if offset is not None:
        check.floating(u=u, offset=offset)
        check.shape("offset", offset, B, L, C)
    left = check.lengths("left_lengths", left_lengths, B, L, u.device)
    right = check.lengths("right_lengths", right_lengths, pairs, R, u.device)
    native = native_for(u)
    if native is None:
        return product_kmax_reference(u, v, left, right, k, offset, relu)
    return _product_kmax_native(native, u, v, left, right, k, offset, relu)


def product_kmax_reference(
    u: Tensor, v: Tensor, left: Tensor, right: Tensor, k: int, offset: Tensor | None, relu: bool
) -> tuple[Tensor, Tensor]:
    """The twin: the whole grid, then its largest cells."""
    times = len(v) // len(u) if len(u) else 1
    if offset is not None:
        offset = offset.repeat(times, 1, 1).transpose(1, 2)[..., None]  # [B,C,L,1]
    s = u.repeat(times, 1, 1, 1).transpose(1, 2) @ v.permute(0, 2, 3, 1)  # [B,C,L,R]
    s = s if offset is None else s + offset
    return kmax_reference(s.relu() if relu else s, left.repeat(times), right, k)


def _product_kmax_native(
    native: Native, u: Tensor, v: Tensor, left: Tensor, right: Tensor, k: int, offset: Tensor | None, relu: bool
) -> tuple[Tensor, Tensor]:
    B, _, C, D = u.shape
    pairs, R = v.shape[:2]
    u, v = (x if x.stride(3) == 1 else x.contiguous() for x in (u, v))
    values = u.new_empty(pairs, C, k)
    positions = torch.empty(pairs, C, k, dtype=torch.int64)
    text, word, channel = (0, 0, 0) if offset is None else offset.stride()
    call = _Call(
        u=u.data_ptr(),
        u_text=u.stride(0),
        u_word=u.stride(1),
        u_channel=u.stride(2),
        v=v.data_ptr(),
        v_text=v.stride(0),
        v_word=v.stride(1),
        v_channel=0 if v.shape[2] == 1 else v.stride(2),
        offset=None if offset is None else offset.data_ptr(),
        offset_text=text,
        offset_word=word,
        offset_channel=channel,
        left=left.data_ptr(),
        right=right.data_ptr(),
        lefts=B,
        pairs=pairs,
        channels=C,
        dim=D,
        columns=R,
        k=k,
        relu=relu,
        threads=torch.get_num_threads(),
        values=values.data_ptr(),
        positions=positions.data_ptr(),
    )
    native.run("product_kmax", u.dtype, call)
    return values, positions
