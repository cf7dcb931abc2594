"""The k largest cells of every channel of a ragged grid: found without gradient, to be computed again with one."""

import ctypes

import torch
from torch import Tensor

from pairlight.core.errors import InputError
from pairlight.kernels.autograd import check
from pairlight.kernels.native.library import Native, native_for, numbers, pointers


class _Call(ctypes.Structure):
    """The same fields in the same order as `KMax` in csrc/kmax.hpp."""

    _fields_ = (
        *pointers("s"),
        *numbers("s_pair", "s_channel", "s_row"),
        *pointers("left", "right"),
        *numbers("pairs", "channels", "columns", "k", "threads"),
        *pointers("values", "positions"),
    )


@torch.no_grad()
def kmax(s: Tensor, left_lengths: Tensor, right_lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """s[B,C,L,R] -> values[B,C,k], largest first, and positions[B,C,k] in the grid: row * R + column.

    Equal cells come in the order of their positions. NaN counts as infinity. Where a pair has fewer than k cells, the
    rest has value 0 and position -1.
    """
    check.dimensions("s", s, "BCLR")
    check.floating(s=s)
    if k < 1:
        raise InputError(f"k is {k}: give 1 or more.")
    B, _, L, R = s.shape
    left = check.lengths("left_lengths", left_lengths, B, L, s.device)
    right = check.lengths("right_lengths", right_lengths, B, R, s.device)
    native = native_for(s)
    return kmax_reference(s, left, right, k) if native is None else _kmax_native(native, s, left, right, k)


def kmax_reference(s: Tensor, left: Tensor, right: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The twin: `topk` finds the k-th value; cells above it are chosen, and of those equal to it the first ones."""
    B, C, L, R = s.shape
    positions = torch.full((B, C, k), -1, dtype=torch.int64, device=s.device)
    if s.numel() == 0:
        return s.new_zeros(B, C, k), positions
    row, column = torch.arange(L, device=s.device)[:, None], torch.arange(R, device=s.device)
    inside = ((row < left[:, None, None]) & (column < right[:, None, None])).view(B, 1, L * R)
    cells = s.reshape(B, C, L * R)
    rank = torch.where(cells.isnan(), torch.inf, cells).masked_fill(~inside, -torch.inf)
    kth = rank.topk(min(k, L * R), -1).values[..., -1:]
    above, level = rank > kth, (rank == kth) & inside
    chosen = above | (level & (level.cumsum(-1) <= k - above.sum(-1, keepdim=True)))
    b, c, position = chosen.nonzero(as_tuple=True)
    positions[b, c, chosen.cumsum(-1)[b, c, position] - 1] = position
    absent = positions < 0
    at = positions.clamp(min=0)
    # An absent place stands after all others, so the stable sort leaves it last among those of rank -infinity.
    by_rank = rank.gather(-1, at).masked_fill(absent, -torch.inf).sort(dim=-1, descending=True, stable=True).indices
    values = cells.gather(-1, at).masked_fill(absent, 0)
    return values.gather(-1, by_rank), positions.gather(-1, by_rank)


def _kmax_native(native: Native, s: Tensor, left: Tensor, right: Tensor, k: int) -> tuple[Tensor, Tensor]:
    B, C, _, R = s.shape
    s = s if s.stride(3) == 1 else s.contiguous()
    values = s.new_empty(B, C, k)
    positions = torch.empty(B, C, k, dtype=torch.int64)
    call = _Call(
        s=s.data_ptr(),
        s_pair=s.stride(0),
        s_channel=s.stride(1),
        s_row=s.stride(2),
        left=left.data_ptr(),
        right=right.data_ptr(),
        pairs=B,
        channels=C,
        columns=R,
        k=k,
        threads=torch.get_num_threads(),
        values=values.data_ptr(),
        positions=positions.data_ptr(),
    )
    native.run("kmax", s.dtype, call)
    return values, positions
