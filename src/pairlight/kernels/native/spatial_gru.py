"""The spatial GRU of Match-SRNN, which computes a state for every cell of a grid, on NumPy arrays.

Equations (3) and (4) of the paper, with the neighbours always in the order diagonal, top, left:

    q     = [h_diagonal; h_top; h_left; s_ij]          the states at (i-1,j-1), (i-1,j), (i,j-1): 0 outside the grid
    r     = σ(W_r q + b_r)                              three reset gates, for diagonal, top, left
    z     = softmax over the four of (W_z q + b_z)      four update gates, for diagonal, top, left, input
    h'    = φ(U [r ⊙ (h_diagonal, h_top, h_left)] + W s_ij + b)
    h_ij  = z_d h_diagonal + z_t h_top + z_l h_left + z_i h'
"""

import ctypes
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from pairlight.core.errors import InputError
from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import (
    Array,
    Blocks,
    address,
    contiguous,
    numbers,
    pointers,
    rows_contiguous,
    strided,
    strides,
)
from pairlight.kernels.native.library import Native

Activation = Literal["tanh", "relu"]


class GruWeights(NamedTuple):
    """The parameters, as NumPy arrays or PyTorch tensors.

    The rows of `gates` are r_d r_t r_l z_d z_t z_l z_i, D each; without the first three there are no reset gates. With
    one row for each gate (7 or 4 in total), all dimensions of a gate have the same value.
    """

    gates: Any  # [7D,3D+C], [4D,3D+C], [7,3D+C] or [4,3D+C]; columns diagonal, top, left, s
    gates_bias: Any  # [rows of gates]
    candidate: Any  # [D,3D+C] U and W, concatenated
    candidate_bias: Any  # [D]


class GridStates(NamedTuple):
    """The states and gates of every cell, as NumPy arrays or PyTorch tensors; 0 for padding."""

    states: Any  # [B,L,R,D]
    update: Any  # [B,L,R,4,D] z: diagonal, top, left, input
    reset: Any  # [B,L,R,3,D] r: diagonal, top, left; None without reset gates


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
    s: Array,
    left_lengths: Array,
    right_lengths: Array,
    weights: GruWeights,
    *,
    offset: Array | None = None,
    activation: Activation = "tanh",
    reverse: bool = False,
) -> Array:
    """s[B,C,L,R] -> h[B,D], the state at the last cell of each pair; 0 for a pair without cells.

    With offset[B,C,L], the input is relu(s + offset), computed on the fly: the last step of a tensor layer. `reverse`
    scans from the last cell of each pair to its first.
    """
    left, right, weights = _checked(s, left_lengths, right_lengths, weights, offset, activation)
    B, D = s.shape[0], weights.candidate.shape[0]
    native = library.native(s.dtype)
    if native is None:
        return spatial_gru_reference(s, left, right, weights, offset, activation, reverse)
    s, offset = rows_contiguous(s), None if offset is None else strided(offset)
    weights = GruWeights(*map(contiguous, weights))
    last = np.zeros((B, D), s.dtype)
    blocks = spatial_gru_blocks(left, right, D, native.lanes(s.dtype))
    spatial_gru_forward(
        native,
        s,
        left,
        right,
        blocks,
        weights,
        last,
        offset=offset,
        relu=activation == "relu",
        reverse=reverse,
        threads=library.threads(),
    )
    return last


@np.errstate(over="ignore", invalid="ignore")
def spatial_gru_states(
    s: Array,
    left_lengths: Array,
    right_lengths: Array,
    weights: GruWeights,
    *,
    offset: Array | None = None,
    activation: Activation = "tanh",
    reverse: bool = False,
) -> GridStates:
    """The state and the gates of every cell, at its own position in the grid also with `reverse`.

    This is used to explain scores, and there is no native kernel for it.
    """
    left, right, weights = _checked(s, left_lengths, right_lengths, weights, offset, activation)
    B, _, L, R = s.shape
    D = weights.candidate.shape[0]
    has_reset = weights.gates.shape[0] == 7 * D
    found = GridStates(*(np.zeros((B, L, R, *size, D), s.dtype) for size in ((), (4,), (3,))))
    for cells, row, column, states, z, r in _scan(s, left, right, weights, offset, activation, reverse):
        at = cells[0], row, column
        found.states[at], found.update[at] = states, z
        if has_reset:
            found.reset[at] = r.reshape(-1, 3, D)
    return found if has_reset else found._replace(reset=None)


def _checked(
    s: Array, left_lengths: Array, right_lengths: Array, weights: GruWeights, offset: Array | None, activation: str
) -> tuple[Array, Array, GruWeights]:
    """The lengths as the kernels need them, and weights with a row of gates for every dimension."""
    check_shapes(s, weights, offset, activation)
    check.floating(s=s, **weights._asdict())
    if offset is not None:
        check.floating(s=s, offset=offset)
    B, _, L, R = s.shape
    left = check.lengths("left_lengths", left_lengths, B, L)
    right = check.lengths("right_lengths", right_lengths, B, R)
    if has_tied_gates(weights):
        D = weights.candidate.shape[0]
        gates, bias = (np.repeat(x, D, 0) for x in (weights.gates, weights.gates_bias))
        weights = weights._replace(gates=gates, gates_bias=bias)
    return left, right, weights


def check_shapes(s: check.Shaped, weights: GruWeights, offset: check.Shaped | None, activation: str) -> None:
    """Check the shapes of grid, parameters and offset, NumPy arrays or PyTorch tensors, and the activation."""
    check.dimensions("s", s, "BCLR")
    B, C, L, _ = s.shape
    D, rows = weights.candidate.shape[0], weights.gates.shape[0]
    if C < 1 or D < 1:
        raise InputError(f"s has {C} channels and candidate has {D} rows: pass at least 1 of each.")
    if rows not in (7 * D, 4 * D, 7, 4):
        raise InputError(
            f"gates has {rows} rows and candidate {D}: pass {7 * D} rows of gates, {4 * D} without reset gates, or "
            "7 or 4 if all dimensions share a gate."
        )
    check.shape("gates", weights.gates, rows, 3 * D + C)
    check.shape("gates_bias", weights.gates_bias, rows)
    check.shape("candidate", weights.candidate, D, 3 * D + C)
    check.shape("candidate_bias", weights.candidate_bias, D)
    if offset is not None:
        check.shape("offset", offset, B, C, L)
    if activation not in ("tanh", "relu"):
        raise InputError(f"activation '{activation}' is not known: use tanh or relu.")


def has_tied_gates(weights: GruWeights) -> bool:
    """Whether each gate has a single row, which must be repeated for every dimension."""
    D = weights.candidate.shape[0]
    return weights.gates.shape[0] not in (7 * D, 4 * D)


@np.errstate(over="ignore", invalid="ignore")
def spatial_gru_reference(
    s: Array,
    left: Array,
    right: Array,
    weights: GruWeights,
    offset: Array | None,
    activation: str,
    reverse: bool,
) -> Array:
    """The reference implementation: the states of the last cells of a scan."""
    last = np.zeros((s.shape[0], weights.candidate.shape[0]), s.dtype)
    for (b, i, j), _, _, states, *_ in _scan(s, left, right, weights, offset, activation, reverse):
        ends = (i == left[b] - 1) & (j == right[b] - 1)
        last[b[ends]] = states[ends]
    return last


def _scan(
    s: Array,
    left: Array,
    right: Array,
    weights: GruWeights,
    offset: Array | None,
    activation: str,
    reverse: bool,
) -> Iterator[tuple[tuple[Array, Array, Array], Array, Array, Array, Array, Array]]:
    """All cells of all pairs, an anti-diagonal at a time.

    Gives for the cells of each: pair, row and column in the order of the scan; row and column in the grid; states[N,D],
    update gates[N,4,D] and reset gates[N,3D].
    """
    B, _, L, R = s.shape
    D = weights.candidate.shape[0]
    reset = weights.gates.shape[0] - 4 * D
    h = np.zeros((B, L + 1, R + 1, D), s.dtype)  # with a row and a column of zeros before the first cell
    rows = np.arange(L)
    for diagonal in range(L + R - 1):
        columns = diagonal - rows
        inside = (rows < left[:, None]) & (columns >= 0) & (columns < right[:, None])
        b, i = inside.nonzero()
        j = columns[i]
        row, column = (left[b] - 1 - i, right[b] - 1 - j) if reverse else (i, j)
        x = s[b, :, row, column]
        if offset is not None:
            x = np.maximum(x + offset[b, :, row], 0)
        around = np.concatenate([h[b, i, j], h[b, i, j + 1], h[b, i + 1, j]], -1)
        gates = np.concatenate([around, x], -1) @ weights.gates.T + weights.gates_bias
        r = 1 / (1 + np.exp(-gates[:, :reset]))
        seen = np.concatenate([r * around if reset else around, x], -1)
        fresh = seen @ weights.candidate.T + weights.candidate_bias
        fresh = np.tanh(fresh) if activation == "tanh" else np.maximum(fresh, 0)
        z = gates[:, reset:].reshape(-1, 4, D)
        z = np.exp(z - z.max(1, keepdims=True))
        z /= z.sum(1, keepdims=True)
        states = (z * np.concatenate([around, fresh], -1).reshape(-1, 4, D)).sum(1)
        h[b, i + 1, j + 1] = states
        yield (b, i, j), row, column, states, z, r


def spatial_gru_blocks(left: Array, right: Array, hidden: int, lanes: int) -> Blocks:
    """Pairs of similar size in the same block, with space for the states that the backward pass needs.

    Pairs are sorted by left length into groups of blocks, and by right length within a group.
    """
    B = len(left)
    if not B:
        return Blocks(left, left, 0)
    group = lanes * max(1, round((-(-B // lanes)) ** 0.5))
    order = left.argsort(kind="stable")
    rank = np.arange(B) // group
    order = order[(rank * (right.max() + 1) + right[order]).argsort(kind="stable")]
    first = np.arange(0, B, lanes)
    rows, columns = np.maximum.reduceat(left[order], first), np.maximum.reduceat(right[order], first)
    sizes = (rows + 1) * (columns + 1) * (hidden * lanes)
    ends = sizes.cumsum()
    return Blocks(order, ends - sizes, int(ends[-1]))


def spatial_gru_forward(
    native: Native,
    s: Array,
    left: Array,
    right: Array,
    blocks: Blocks,
    weights: GruWeights,
    last: Array,
    states: Array | None = None,
    *,
    offset: Array | None,
    relu: bool,
    reverse: bool,
    threads: int,
) -> None:
    """Write the last state of each pair that has cells to last[B,D].

    The last axis of s[B,C,L,R] is contiguous, and so are all other arrays but `offset`. Each gate has D rows. A
    backward pass needs the buffer states[blocks.size], aligned to 64 bytes.
    """
    call = _call(s, left, right, blocks, weights, offset, relu, reverse, threads)
    call.last = address(last)
    if states is not None:
        call.states = address(states)
    native.run("spatial_gru", s.dtype, call)


def spatial_gru_backward(
    native: Native,
    s: Array,
    left: Array,
    right: Array,
    blocks: Blocks,
    weights: GruWeights,
    states: Array,
    d_last: Array,
    d_s: Array,
    d_weights: GruWeights,
    *,
    offset: Array | None,
    relu: bool,
    reverse: bool,
    threads: int,
) -> None:
    """Write the gradient of all cells inside the grids to `d_s`, and add those of the parameters to `d_weights`.

    `states` is that of `spatial_gru_forward`; the last axis of `d_s` is contiguous. With an offset, `d_s` is the
    gradient of s + offset.
    """
    call = _call(s, left, right, blocks, weights, offset, relu, reverse, threads)
    call.states, call.d_last, call.d_s = address(states), address(d_last), address(d_s)
    call.d_s_pair, call.d_s_channel, call.d_s_row, _ = strides(d_s)
    call.d_gates, call.d_gates_bias = address(d_weights.gates), address(d_weights.gates_bias)
    call.d_candidate, call.d_candidate_bias = address(d_weights.candidate), address(d_weights.candidate_bias)
    native.run("spatial_gru_backward", s.dtype, call)


def _call(
    s: Array,
    left: Array,
    right: Array,
    blocks: Blocks,
    weights: GruWeights,
    offset: Array | None,
    relu: bool,
    reverse: bool,
    threads: int,
) -> _Call:
    s_pair, s_channel, s_row, _ = strides(s)
    offset_pair, offset_channel, offset_row = (0, 0, 0) if offset is None else strides(offset)
    D = len(weights.candidate)
    return _Call(
        s=address(s),
        s_pair=s_pair,
        s_channel=s_channel,
        s_row=s_row,
        offset=None if offset is None else address(offset),
        offset_pair=offset_pair,
        offset_channel=offset_channel,
        offset_row=offset_row,
        left=address(left),
        right=address(right),
        order=address(blocks.order),
        place=address(blocks.place),
        pairs=s.shape[0],
        channels=s.shape[1],
        hidden=D,
        reset=len(weights.gates) == 7 * D,
        relu=relu,
        reverse=reverse,
        threads=threads,
        gates=address(weights.gates),
        gates_bias=address(weights.gates_bias),
        candidate=address(weights.candidate),
        candidate_bias=address(weights.candidate_bias),
    )
