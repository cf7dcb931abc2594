"""The k largest cells of each channel of grids of different sizes, as PyTorch functions without gradients."""

import torch
from torch import Tensor

from pairlight.kernels.autograd import check
from pairlight.kernels.autograd.arrays import array, native_for
from pairlight.kernels.native.kmax import check_shapes, kmax_into
from pairlight.kernels.native.library import Native


def kmax(s: Tensor, left_lengths: Tensor, right_lengths: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """s[B,C,L,R] -> values[B,C,k], largest first, and positions[B,C,k] in the grid: row * R + column.

    Equal cells are ordered by their positions. NaN counts as infinity. Where a pair has fewer than k cells, the
    remaining values are 0 and their positions -1.
    """
    check_shapes(s, k)
    check.floating(s=s)
    B, _, L, R = s.shape
    left = check.lengths("left_lengths", left_lengths, B, L, s.device)
    right = check.lengths("right_lengths", right_lengths, B, R, s.device)
    native = native_for(s)
    return kmax_reference(s, left, right, k) if native is None else _kmax_native(native, s, left, right, k)


@torch.no_grad()
def kmax_reference(s: Tensor, left: Tensor, right: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The reference implementation: selects the cells above the k-th value, and of those equal to it the first."""
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
    # Absent cells follow all others, so the stable sort keeps them last among those of rank -infinity.
    by_rank = rank.gather(-1, at).masked_fill(absent, -torch.inf).sort(dim=-1, descending=True, stable=True).indices
    values = cells.gather(-1, at).masked_fill(absent, 0)
    return values.gather(-1, by_rank), positions.gather(-1, by_rank)


def _kmax_native(native: Native, s: Tensor, left: Tensor, right: Tensor, k: int) -> tuple[Tensor, Tensor]:
    B, C = s.shape[:2]
    s = s if s.stride(3) == 1 else s.contiguous()
    values = s.new_empty(B, C, k)
    positions = torch.empty(B, C, k, dtype=torch.int64)
    arrays = map(array, (s, left, right, values, positions))
    kmax_into(native, *arrays, threads=torch.get_num_threads())
    return values, positions
