"""The spatial GRU of Match-SRNN, which computes a state for every cell of a grid, as differentiable PyTorch functions.

The equations are those of `pairlight.kernels.native.spatial_gru`. Neighbours are always in the order diagonal, top,
left.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from pairlight.kernels.autograd import check
from pairlight.kernels.autograd.arrays import array, native_for
from pairlight.kernels.native.library import Native
from pairlight.kernels.native.spatial_gru import (
    Activation,
    GridStates,
    GruWeights,
    check_shapes,
    has_tied_gates,
    spatial_gru_backward,
    spatial_gru_blocks,
    spatial_gru_forward,
)
from pairlight.kernels.native.spatial_gru import spatial_gru_states as numpy_states

__all__ = ["Activation", "GridStates", "GruWeights", "spatial_gru", "spatial_gru_reference", "spatial_gru_states"]


def spatial_gru(
    s: Tensor,
    left_lengths: Tensor,
    right_lengths: Tensor,
    weights: GruWeights,
    *,
    offset: Tensor | None = None,
    activation: Activation = "tanh",
    reverse: bool = False,
) -> Tensor:
    """s[B,C,L,R] -> h[B,D], the state at the last cell of each pair; 0 for a pair without cells.

    With offset[B,C,L], the input is relu(s + offset), computed on the fly: the last step of a tensor layer. `reverse`
    scans from the last cell of each pair to its first.
    """
    left, right, weights = _checked(s, left_lengths, right_lengths, weights, offset, activation)
    native = native_for(s)
    if native is None:
        return spatial_gru_reference(s, left, right, weights, offset, activation, reverse)
    tensors = [s, *weights, *([] if offset is None else [offset])]
    train = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    options = _Options(native, train, activation == "relu", reverse)
    last: Tensor = _NativeSpatialGru.apply(options, left, right, s, offset, *weights)  # type: ignore[no-untyped-call]
    return last


def spatial_gru_states(
    s: Tensor,
    left_lengths: Tensor,
    right_lengths: Tensor,
    weights: GruWeights,
    *,
    offset: Tensor | None = None,
    activation: Activation = "tanh",
    reverse: bool = False,
) -> GridStates:
    """`pairlight.kernels.native.spatial_gru.spatial_gru_states` on tensors, without gradients."""
    s, left, right, *rest = (x.detach().cpu() for x in (s, left_lengths, right_lengths, *weights))
    found = numpy_states(
        s.numpy(),
        left.numpy(),
        right.numpy(),
        GruWeights(*(x.numpy() for x in rest)),
        offset=None if offset is None else offset.detach().cpu().numpy(),
        activation=activation,
        reverse=reverse,
    )
    return GridStates(*(None if x is None else torch.from_numpy(x) for x in found))


def _checked(
    s: Tensor, left: Tensor, right: Tensor, weights: GruWeights, offset: Tensor | None, activation: str
) -> tuple[Tensor, Tensor, GruWeights]:
    """The lengths as the kernels need them, and weights with a row of gates for every dimension."""
    check_shapes(s, weights, offset, activation)
    check.floating(s=s, **weights._asdict())
    if offset is not None:
        check.floating(s=s, offset=offset)
    B, _, L, R = s.shape
    left = check.lengths("left_lengths", left, B, L, s.device)
    right = check.lengths("right_lengths", right, B, R, s.device)
    if has_tied_gates(weights):
        D = weights.candidate.shape[0]
        gates, bias = (x.repeat_interleave(D, 0) for x in (weights.gates, weights.gates_bias))
        weights = weights._replace(gates=gates, gates_bias=bias)
    return left, right, weights


def spatial_gru_reference(
    s: Tensor,
    left: Tensor,
    right: Tensor,
    weights: GruWeights,
    offset: Tensor | None,
    activation: str,
    reverse: bool,
) -> Tensor:
    """The reference implementation: a loop over the anti-diagonals, with all their cells at once."""
    B, _, L, R = s.shape
    inside = _inside(left, right, L, R)
    states = _wavefront(_inputs(s, offset, left, right, reverse), inside, weights, activation)
    if L * R == 0:
        return s.new_zeros(B, states.shape[-1])
    last = states[(left - 1).clamp(min=0), (right - 1).clamp(min=0), torch.arange(B, device=s.device)]
    return last.masked_fill(((left == 0) | (right == 0))[:, None], 0)


def _inside(left: Tensor, right: Tensor, L: int, R: int) -> Tensor:
    row, column = torch.arange(L, device=left.device), torch.arange(R, device=left.device)
    return (row < left[:, None])[:, :, None] & (column < right[:, None])[:, None, :]  # [B,L,R]


def _inputs(s: Tensor, offset: Tensor | None, left: Tensor, right: Tensor, reverse: bool) -> Tensor:
    """The inputs of the cells in the order of the scan: [B,L,R,C], 0 for padding."""
    inside = _inside(left, right, *s.shape[2:])
    s = s if offset is None else torch.relu(s + offset[..., None])
    s = s.permute(0, 2, 3, 1).masked_fill(~inside[..., None], 0)
    return _reversed(s, left, right) if reverse else s


def _reversed(x: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """x[B,L,R,...] with the cells of each pair in reverse order."""
    B, L, R = x.shape[:3]
    row, column = torch.arange(L, device=x.device), torch.arange(R, device=x.device)
    i = torch.where(row < left[:, None], left[:, None] - 1 - row, row)
    j = torch.where(column < right[:, None], right[:, None] - 1 - column, column)
    return x[torch.arange(B, device=x.device)[:, None, None], i[:, :, None], j[:, None, :]]


def _wavefront(s: Tensor, inside: Tensor, weights: GruWeights, activation: str) -> Tensor:
    """s[B,L,R,C] -> h[L,R,B,D]"""
    B, L, R, _ = s.shape
    D = weights.candidate.shape[0]
    reset = weights.gates.shape[0] - 4 * D
    if B * L * R == 0:
        return s.new_zeros(L, R, B, D)
    row, column = torch.arange(L, device=s.device)[:, None], torch.arange(R, device=s.device)
    order = (row + column).flatten().argsort(stable=True)
    sizes = [min(L, d + 1) - max(0, d - R + 1) for d in range(L + R - 1)]
    # One product for everything that depends on s alone, split once: this keeps the backward pass linear in time.
    of_s = torch.cat([weights.gates[:, 3 * D :], weights.candidate[:, 3 * D :]])
    bias = torch.cat([weights.gates_bias, weights.candidate_bias])
    given = F.linear(s.permute(1, 2, 0, 3).reshape(L * R, B, -1)[order], of_s, bias).split_with_sizes(sizes)
    padding = ~inside.permute(1, 2, 0).reshape(L * R, B, 1)[order]
    of_gates, of_candidate = weights.gates[:, : 3 * D].t(), weights.candidate[:, : 3 * D].t()
    states = []
    before = before2 = s.new_zeros(L + 1, B, D)  # the previous two diagonals; row i is at i + 1
    for d, (x, blank) in enumerate(zip(given, padding.split_with_sizes(sizes), strict=True)):
        low, high = max(0, d - R + 1), min(L, d + 1)
        around = torch.cat([before2[low:high], before[low:high], before[low + 1 : high + 1]], -1)
        gates = x[..., : reset + 4 * D] + around @ of_gates
        r = torch.sigmoid(gates[..., :reset])
        z = gates[..., reset:].reshape(-1, B, 4, D).softmax(-2)
        candidate = x[..., reset + 4 * D :] + (around * r if reset else around) @ of_candidate
        candidate = torch.tanh(candidate) if activation == "tanh" else torch.relu(candidate)
        h = (z * torch.cat([around, candidate], -1).view(-1, B, 4, D)).sum(-2).masked_fill(blank, 0)
        before2, before = before, F.pad(h, (0, 0, 0, 0, low + 1, L - high))
        states.append(h)
    return torch.cat(states)[order.argsort()].unflatten(0, (L, R))


class _Options(NamedTuple):
    native: Native
    train: bool
    relu: bool
    reverse: bool


class _NativeSpatialGru(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        options: _Options,
        left: Tensor,
        right: Tensor,
        s: Tensor,
        offset: Tensor | None,
        *weights: Tensor,
    ) -> Tensor:
        s = s if s.stride(3) == 1 else s.contiguous()
        weights = tuple(tensor.contiguous() for tensor in weights)
        B, D = s.shape[0], weights[2].shape[0]
        grid, rows, columns = array(s), array(left), array(right)
        blocks = spatial_gru_blocks(rows, columns, D, options.native.lanes(grid.dtype))
        last = s.new_zeros(B, D)
        states = s.new_empty(blocks.size) if options.train else None
        spatial_gru_forward(
            options.native,
            grid,
            rows,
            columns,
            blocks,
            GruWeights(*map(array, weights)),
            array(last),
            None if states is None else array(states),
            offset=None if offset is None else array(offset),
            relu=options.relu,
            reverse=options.reverse,
            threads=torch.get_num_threads(),
        )
        if states is not None:
            ctx.save_for_backward(left, right, states, s, offset, *weights)  # type: ignore[arg-type]
            ctx.options, ctx.blocks = options, blocks  # type: ignore[attr-defined]
        return last

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, d_last: Tensor) -> tuple[Tensor | None, ...]:
        options: _Options = ctx.options  # type: ignore[attr-defined]
        left, right, states, s, offset, *weights = ctx.saved_tensors  # type: ignore[attr-defined]
        d_last, d_s = d_last.contiguous(), torch.zeros_like(s)
        d_weights = [torch.zeros_like(tensor) for tensor in weights]
        spatial_gru_backward(
            options.native,
            array(s),
            array(left),
            array(right),
            ctx.blocks,  # type: ignore[attr-defined]
            GruWeights(*map(array, weights)),
            array(states),
            array(d_last),
            array(d_s),
            GruWeights(*map(array, d_weights)),
            offset=None if offset is None else array(offset),
            relu=options.relu,
            reverse=options.reverse,
            threads=torch.get_num_threads(),
        )
        return None, None, None, d_s, None if offset is None else d_s.sum(-1), *d_weights
