"""The spatial GRU of Match-SRNN: a state for every cell of a grid, out of its three neighbours and its input.

Equations (3) and (4), with the directions always in the order diagonal, top, left:

    q     = [h_diagonal; h_top; h_left; s_ij]          the states at (i-1,j-1), (i-1,j), (i,j-1): 0 outside the grid
    r     = σ(W_r q + b_r)                              three reset gates, for diagonal, top, left
    z     = softmax over the four of (W_z q + b_z)      four update gates, for diagonal, top, left, input
    h'    = φ(U [r ⊙ (h_diagonal, h_top, h_left)] + W s_ij + b)
    h_ij  = z_d h_diagonal + z_t h_top + z_l h_left + z_i h'
"""

import ctypes
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from pairlight.core.errors import InputError
from pairlight.kernels.autograd import check
from pairlight.kernels.native.library import Native, native_for, numbers, pointers

Activation = Literal["tanh", "relu"]


class GruWeights(NamedTuple):
    """Rows of `gates` are r_d r_t r_l z_d z_t z_l z_i, D each; without the first three there are no reset gates.

    With one row a gate (7 or 4 in all), every dimension of the gate has the same value.
    """

    gates: Tensor  # [7D, 3D+C], or [4D, 3D+C], or [7, 3D+C], or [4, 3D+C]; columns diagonal, top, left, s
    gates_bias: Tensor  # [as many]
    candidate: Tensor  # [D, 3D+C] U and W side by side
    candidate_bias: Tensor  # [D]


class GridStates(NamedTuple):
    """What happened in every cell; 0 under padding."""

    states: Tensor  # [B,L,R,D]
    update: Tensor  # [B,L,R,4,D] z: diagonal, top, left, input
    reset: Tensor | None  # [B,L,R,3,D] r: diagonal, top, left


class _Call(ctypes.Structure):
    """The same fields in the same order as `SpatialGru` in csrc/spatial_gru.hpp."""

    _fields_ = (
        *pointers("s"),
        *numbers("s_pair", "s_channel", "s_row"),
        *pointers("offset"),
        *numbers("offset_pair", "offset_channel", "offset_row"),
        *pointers("left", "right", "order", "place"),
        *numbers("pairs", "channels", "hidden", "reset", "relu", "reverse", "threads"),
        *pointers("gates", "gates_bias", "candidate", "candidate_bias"),
        *pointers("last", "states", "d_last", "d_s"),
        *numbers("d_s_pair", "d_s_channel", "d_s_row"),
        *pointers("d_gates", "d_gates_bias", "d_candidate", "d_candidate_bias"),
    )


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
    """s[B,C,L,R] -> h[B,D], the state at each pair's own last cell; 0 for a pair without cells.

    With offset[B,C,L] the input is relu(s + offset), made on the fly: what a tensor layer needs after its one product.
    `reverse` scans from each pair's last cell to its first.
    """
    s, left, right, weights = _checked(s, left_lengths, right_lengths, weights, offset, activation)
    native = native_for(s)
    if native is None:
        return spatial_gru_reference(s, left, right, weights, offset, activation, reverse)
    tensors = [s, *weights, *([] if offset is None else [offset])]
    train = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    how = _How(native, train, activation == "relu", reverse)
    last: Tensor = _NativeSpatialGru.apply(how, left, right, s, offset, *weights)  # type: ignore[no-untyped-call]
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
    """State and gates of every cell, where it stands in the grid: to explain a score, so only in plain PyTorch."""
    s, left, right, weights = _checked(s, left_lengths, right_lengths, weights, offset, activation)
    B, _, L, R = s.shape
    inside = _inside(left, right, L, R)
    scan = _wavefront(_inputs(s, offset, left, right, reverse), inside, weights, activation, gates_too=True)
    reset = weights.gates.shape[0] == 7 * weights.candidate.shape[0]
    grids = []
    for x in scan[: 3 if reset else 2]:
        grid = x.movedim(2, 0).masked_fill(~inside.view(B, L, R, *[1] * (x.dim() - 3)), 0)
        grids.append(_reversed(grid, left, right) if reverse else grid)
    D = weights.candidate.shape[0]
    return GridStates(grids[0], grids[1].view(B, L, R, 4, D), grids[2].view(B, L, R, 3, D) if reset else None)


def _checked(
    s: Tensor, left: Tensor, right: Tensor, weights: GruWeights, offset: Tensor | None, activation: str
) -> tuple[Tensor, Tensor, Tensor, GruWeights]:
    check.dimensions("s", s, "BCLR")
    B, C, L, R = s.shape
    D, rows = weights.candidate.shape[0], weights.gates.shape[0]
    check.floating(s=s, **weights._asdict())
    if C < 1 or D < 1:
        raise InputError(f"s has {C} channels and candidate {D} rows: give 1 or more of each.")
    if rows not in (7 * D, 4 * D, 7, 4):
        raise InputError(f"gates has {rows} rows for {D} dimensions: give {7 * D}, {4 * D} without reset, or 7 or 4.")
    check.shape("gates", weights.gates, rows, 3 * D + C)
    check.shape("gates_bias", weights.gates_bias, rows)
    check.shape("candidate", weights.candidate, D, 3 * D + C)
    check.shape("candidate_bias", weights.candidate_bias, D)
    if offset is not None:
        check.floating(s=s, offset=offset)
        check.shape("offset", offset, B, C, L)
    if activation not in ("tanh", "relu"):
        raise InputError(f"activation '{activation}' is not known: give tanh or relu.")
    left = check.lengths("left_lengths", left, B, L, s.device)
    right = check.lengths("right_lengths", right, B, R, s.device)
    if rows in (7, 4) and rows not in (7 * D, 4 * D):
        gates, bias = (x.repeat_interleave(D, 0) for x in (weights.gates, weights.gates_bias))
        weights = weights._replace(gates=gates, gates_bias=bias)
    return s, left, right, weights


def spatial_gru_reference(
    s: Tensor,
    left: Tensor,
    right: Tensor,
    weights: GruWeights,
    offset: Tensor | None,
    activation: str,
    reverse: bool,
) -> Tensor:
    """The twin: all cells of an anti-diagonal at once."""
    B, _, L, R = s.shape
    inside = _inside(left, right, L, R)
    states = _wavefront(_inputs(s, offset, left, right, reverse), inside, weights, activation)[0]
    if L * R == 0:
        return s.new_zeros(B, states.shape[-1])
    last = states[(left - 1).clamp(min=0), (right - 1).clamp(min=0), torch.arange(B, device=s.device)]
    return last.masked_fill(((left == 0) | (right == 0))[:, None], 0)


def _inside(left: Tensor, right: Tensor, L: int, R: int) -> Tensor:
    row, column = torch.arange(L, device=left.device), torch.arange(R, device=left.device)
    return (row < left[:, None])[:, :, None] & (column < right[:, None])[:, None, :]  # [B,L,R]


def _inputs(s: Tensor, offset: Tensor | None, left: Tensor, right: Tensor, reverse: bool) -> Tensor:
    """What the cells see, in the order of the scan: [B,L,R,C], 0 under padding."""
    inside = _inside(left, right, *s.shape[2:])
    s = s if offset is None else torch.relu(s + offset[..., None])
    s = s.permute(0, 2, 3, 1).masked_fill(~inside[..., None], 0)
    return _reversed(s, left, right) if reverse else s


def _reversed(x: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """x[B,L,R,...] with each pair's own cells in opposite order."""
    B, L, R = x.shape[:3]
    row, column = torch.arange(L, device=x.device), torch.arange(R, device=x.device)
    i = torch.where(row < left[:, None], left[:, None] - 1 - row, row)
    j = torch.where(column < right[:, None], right[:, None] - 1 - column, column)
    return x[torch.arange(B, device=x.device)[:, None, None], i[:, :, None], j[:, None, :]]


def _wavefront(
    s: Tensor, inside: Tensor, weights: GruWeights, activation: str, gates_too: bool = False
) -> tuple[Tensor, ...]:
    """s[B,L,R,C] -> h[L,R,B,D]; and if asked z[L,R,B,4D] and r[L,R,B,3D], which is empty without reset gates."""
    B, L, R, _ = s.shape
    D = weights.candidate.shape[0]
    reset = weights.gates.shape[0] - 4 * D
    if B * L * R == 0:
        return s.new_zeros(L, R, B, D), s.new_zeros(L, R, B, 4 * D), s.new_zeros(L, R, B, reset)
    row, column = torch.arange(L, device=s.device)[:, None], torch.arange(R, device=s.device)
    order = (row + column).flatten().argsort(stable=True)
    sizes = [min(L, d + 1) - max(0, d - R + 1) for d in range(L + R - 1)]
    # Everything that depends on s alone is one product; splitting it once keeps the backward pass linear.
    of_s = torch.cat([weights.gates[:, 3 * D :], weights.candidate[:, 3 * D :]])
    bias = torch.cat([weights.gates_bias, weights.candidate_bias])
    given = F.linear(s.permute(1, 2, 0, 3).reshape(L * R, B, -1)[order], of_s, bias).split_with_sizes(sizes)
    padding = ~inside.permute(1, 2, 0).reshape(L * R, B, 1)[order]
    of_gates, of_candidate = weights.gates[:, : 3 * D].t(), weights.candidate[:, : 3 * D].t()
    states, updates, resets = [], [], []
    before = before2 = s.new_zeros(L + 1, B, D)  # the last two diagonals; row i stands at i + 1
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
        if gates_too:
            updates.append(z.flatten(-2))
            resets.append(r)
    back = order.argsort()
    kept = (states, updates, resets) if gates_too else (states,)
    return tuple(torch.cat(x)[back].unflatten(0, (L, R)) for x in kept)


class _How(NamedTuple):
    native: Native
    train: bool
    relu: bool
    reverse: bool


class _NativeSpatialGru(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, how: _How, left: Tensor, right: Tensor, s: Tensor, offset: Tensor | None, *weights: Tensor
    ) -> Tensor:
        D = weights[2].shape[0]
        s = s if s.stride(3) == 1 else s.contiguous()
        weights = tuple(tensor.contiguous() for tensor in weights)
        lanes = how.native.lanes(s.dtype)
        order, place, room = _blocks(left, right, lanes, D)
        last = s.new_zeros(s.shape[0], D)
        states = s.new_empty(room) if how.train else None
        call = _call(how, left, right, order, place, s, offset, weights)
        call.last = last.data_ptr()
        call.states = None if states is None else states.data_ptr()
        how.native.run("spatial_gru", s.dtype, call)
        if states is not None:
            ctx.save_for_backward(left, right, order, place, states, s, offset, *weights)  # type: ignore[arg-type]
            ctx.how = how  # type: ignore[attr-defined]
        return last

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, d_last: Tensor) -> tuple[Tensor | None, ...]:
        how: _How = ctx.how  # type: ignore[attr-defined]
        left, right, order, place, states, s, offset, *weights = ctx.saved_tensors  # type: ignore[attr-defined]
        d_last, d_s = d_last.contiguous(), torch.zeros_like(s)
        d_weights = [torch.zeros_like(tensor) for tensor in weights]
        call = _call(how, left, right, order, place, s, offset, weights)
        call.states, call.d_last, call.d_s = states.data_ptr(), d_last.data_ptr(), d_s.data_ptr()
        call.d_s_pair, call.d_s_channel, call.d_s_row = d_s.stride()[:3]
        call.d_gates, call.d_gates_bias, call.d_candidate, call.d_candidate_bias = (x.data_ptr() for x in d_weights)
        how.native.run("spatial_gru_backward", s.dtype, call)
        return None, None, None, d_s, None if offset is None else d_s.sum(-1), *d_weights


def _blocks(left: Tensor, right: Tensor, lanes: int, D: int) -> tuple[Tensor, Tensor, int]:
    """Pairs of like size together: sorted by left length into groups of blocks, and by right length within a group."""
    B = len(left)
    blocks = -(-B // lanes)
    group = lanes * max(1, round(blocks**0.5))
    order = left.argsort(stable=True)
    rank = torch.arange(B) // group
    order = order[(rank * (int(right.amax()) + 1 if B else 1) + right[order]).argsort(stable=True)]
    rows, columns = (F.pad(x[order], (0, -B % lanes)).view(-1, lanes).amax(1) for x in (left, right))
    sizes = (rows + 1) * (columns + 1) * (D * lanes)
    return order, sizes.cumsum(0) - sizes, int(sizes.sum())


def _call(
    how: _How,
    left: Tensor,
    right: Tensor,
    order: Tensor,
    place: Tensor,
    s: Tensor,
    offset: Tensor | None,
    weights: tuple[Tensor, ...] | list[Tensor],
) -> _Call:
    gates, gates_bias, candidate, candidate_bias = weights
    pair, channel, row = (0, 0, 0) if offset is None else offset.stride()
    D = candidate.shape[0]
    return _Call(
        s=s.data_ptr(),
        s_pair=s.stride(0),
        s_channel=s.stride(1),
        s_row=s.stride(2),
        offset=None if offset is None else offset.data_ptr(),
        offset_pair=pair,
        offset_channel=channel,
        offset_row=row,
        left=left.data_ptr(),
        right=right.data_ptr(),
        order=order.data_ptr(),
        place=place.data_ptr(),
        pairs=s.shape[0],
        channels=s.shape[1],
        hidden=D,
        reset=gates.shape[0] == 7 * D,
        relu=how.relu,
        reverse=how.reverse,
        threads=torch.get_num_threads(),
        gates=gates.data_ptr(),
        gates_bias=gates_bias.data_ptr(),
        candidate=candidate.data_ptr(),
        candidate_bias=candidate_bias.data_ptr(),
    )
