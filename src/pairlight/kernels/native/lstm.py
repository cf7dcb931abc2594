"""LSTM over texts of different lengths, in one direction or both, on NumPy arrays.

The equations are those of the MV-LSTM paper:

    i = σ(W_i [x_t; h_t-1] + b_i)        c_t = f c_t-1 + i tanh(W_c [x_t; h_t-1] + b_c)
    f = σ(W_f [x_t; h_t-1] + b_f)        o   = σ(W_o [x_t; h_t-1] + b_o)
                                         h_t = o tanh(c_t)

A direction has weight[4H,E+H], with the rows of i, f, c and o in this order, and bias[4H].
"""

import ctypes
from collections.abc import Sequence

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
    strides,
)
from pairlight.kernels.native.library import Native
from pairlight.kernels.native.matmul import linear

Direction = tuple[Array, Array, bool]  # weight, bias, reverse


class _Call(ctypes.Structure):
    """The same fields in the same order as `Lstm` in csrc/lstm.hpp."""

    _fields_ = (
        *pointers("x"),
        *numbers("x_text", "x_word"),
        *pointers("lengths", "order", "place", "rows"),
        *numbers("texts", "longest", "inputs", "hidden", "reverse", "threads"),
        *pointers("weight", "bias", "out"),
        *numbers("out_text", "out_word"),
        *pointers("gates", "d_out", "d_x"),
        *numbers("d_out_text", "d_out_word", "d_x_text", "d_x_word"),
        *pointers("d_weight", "d_bias"),
    )


def lstm(x: Array, lengths: Array, weight: Array, bias: Array, *, reverse: bool = False) -> Array:
    """x[B,L,E] -> h[B,L,H], 0 for padding; `reverse` reads each text from its last word to its first."""
    return _directions(x, lengths, [(weight, bias, reverse)])


def bilstm(
    x: Array,
    lengths: Array,
    forward_weight: Array,
    forward_bias: Array,
    backward_weight: Array,
    backward_bias: Array,
) -> Array:
    """x[B,L,E] -> h[B,L,2H], 0 for padding: the states of the forward direction, then of the backward direction."""
    return _directions(x, lengths, [(forward_weight, forward_bias, False), (backward_weight, backward_bias, True)])


def lstm_of_rows(
    x: Array, rows: Array, lengths: Array, directions: Sequence[Direction], threads: int | None = None
) -> Array:
    """x[U,E], rows[B,L] -> h[B,L,directions·H], 0 for padding: the states of texts whose words are rows of x.

    The product of a row with the weights is computed once, however often its word occurs.
    """
    check_shapes(x[None], directions)
    check.dimensions("rows", rows, "BL")
    B, L = rows.shape
    lengths = check.lengths("lengths", lengths, B, L)
    native = library.native(x.dtype)
    if native is None:
        return lstm_reference(x[rows], lengths, directions)
    E, H = x.shape[1], len(directions[0][1]) // 4
    out = np.empty((B, L, len(directions) * H), x.dtype)
    blocks = lstm_blocks(lengths, H, native.lanes(x.dtype))
    threads = threads or library.threads()
    call = _call(x, lengths, blocks, directions, out, threads)
    rows = contiguous(rows)
    call.rows, call.inputs, call.bias, call.x_word = address(rows), 0, None, 4 * H
    for n, (weight, bias, reverse) in enumerate(directions):
        products, of_states = linear(x, weight[:, :E], bias, threads), contiguous(weight[:, E:])
        call.x, call.weight, call.reverse = address(products), address(of_states), reverse
        call.out = address(out) + n * H * x.itemsize
        native.run("lstm", x.dtype, call)
    return out


def _directions(x: Array, lengths: Array, directions: list[Direction]) -> Array:
    check_shapes(x, directions)
    for weight, bias, _ in directions:
        check.floating(x=x, weight=weight, bias=bias)
    B, L, _ = x.shape
    lengths = check.lengths("lengths", lengths, B, L)
    native = library.native(x.dtype)
    if native is None:
        return lstm_reference(x, lengths, directions)
    x = rows_contiguous(x)
    directions = [(contiguous(weight), contiguous(bias), reverse) for weight, bias, reverse in directions]
    H = len(directions[0][1]) // 4
    out = np.empty((B, L, len(directions) * H), x.dtype)
    blocks = lstm_blocks(lengths, H, native.lanes(x.dtype))
    lstm_forward(native, x, lengths, blocks, directions, out, threads=library.threads())
    return out


def check_shapes(x: check.Shaped, directions: Sequence[tuple[check.Shaped, check.Shaped, bool]]) -> None:
    """Check the shapes of the input and of the parameters, NumPy arrays or PyTorch tensors."""
    check.dimensions("x", x, "BLE")
    E, rows = x.shape[2], directions[0][0].shape[0]
    H = rows // 4
    if E < 1 or H < 1:
        raise InputError(f"x has {E} features and weight has {rows} rows: pass at least 1 feature and 4 rows.")
    for weight, bias, _ in directions:
        check.shape("weight", weight, 4 * H, E + H)
        check.shape("bias", bias, 4 * H)


@np.errstate(over="ignore", invalid="ignore")
def lstm_reference(x: Array, lengths: Array, directions: Sequence[Direction]) -> Array:
    """The reference implementation: a loop over the steps, with all texts that have a word at this step at once."""
    B, L, E = x.shape
    H = len(directions[0][1]) // 4
    out = np.zeros((B, L, len(directions) * H), x.dtype)
    order = (-lengths).argsort(kind="stable")
    for n, (weight, bias, reverse) in enumerate(directions):
        states = out[..., n * H : (n + 1) * H]
        of_words = x @ weight[:, :E].T + bias
        of_states = weight[:, E:].T
        h = c = np.zeros((B, H), x.dtype)
        for step in range(int(lengths.max(initial=0))):
            texts = order[: np.count_nonzero(lengths > step)]
            words = lengths[texts] - 1 - step if reverse else np.full_like(texts, step)
            i, f, fresh, o = np.split(of_words[texts, words] + h[: len(texts)] @ of_states, 4, axis=1)
            c = _sigmoid(f) * c[: len(texts)] + _sigmoid(i) * np.tanh(fresh)
            h = _sigmoid(o) * np.tanh(c)
            states[texts, words] = h
    return out


def _sigmoid(x: Array) -> Array:
    y: Array = 1 / (1 + np.exp(-x))
    return y


def lstm_blocks(lengths: Array, hidden: int, lanes: int) -> Blocks:
    """Sort texts by length into blocks, with space for the gates that the backward pass needs."""
    B = len(lengths)
    order = lengths.argsort(kind="stable")
    longest = order[np.minimum(np.arange(lanes, B + lanes, lanes), B) - 1]  # the last text of each block
    sizes = lengths[longest] * (5 * hidden * lanes)
    ends = sizes.cumsum()
    return Blocks(order, ends - sizes, int(ends[-1]) if B else 0)


def lstm_forward(
    native: Native,
    x: Array,
    lengths: Array,
    blocks: Blocks,
    directions: Sequence[Direction],
    out: Array,
    gates: Sequence[Array] = (),
    *,
    threads: int,
) -> None:
    """Write the states of all directions to out[B,L,directions·H].

    The last axes of x[B,L,E] and of `out` are contiguous, and so are lengths and parameters. For a backward pass, each
    direction needs a buffer gates[blocks.size], aligned to 64 bytes.
    """
    call = _call(x, lengths, blocks, directions, out, threads)
    first, by_direction = address(out), call.hidden * x.itemsize
    for n, (weight, bias, reverse) in enumerate(directions):
        call.weight, call.bias, call.reverse = address(weight), address(bias), reverse
        call.out = first + n * by_direction
        if gates:
            call.gates = address(gates[n])
        native.run("lstm", x.dtype, call)


def lstm_backward(
    native: Native,
    x: Array,
    lengths: Array,
    blocks: Blocks,
    directions: Sequence[Direction],
    out: Array,
    gates: Sequence[Array],
    d_out: Array,
    d_x: Array | None,
    d_parameters: Sequence[Array],
    *,
    threads: int,
) -> None:
    """Add the gradients to `d_x`, if given, and to `d_parameters`: weight and bias of each direction.

    `out` and `gates` are those of `lstm_forward`; the last axes of `d_out` and of `d_x` are contiguous.
    """
    call = _call(x, lengths, blocks, directions, out, threads)
    call.d_out_text, call.d_out_word, _ = strides(d_out)
    if d_x is not None:
        call.d_x = address(d_x)
        call.d_x_text, call.d_x_word, _ = strides(d_x)
    first, d_first, by_direction = address(out), address(d_out), call.hidden * x.itemsize
    for n, (weight, bias, reverse) in enumerate(directions):
        call.weight, call.bias, call.reverse = address(weight), address(bias), reverse
        call.out, call.d_out = first + n * by_direction, d_first + n * by_direction
        call.gates = address(gates[n])
        call.d_weight, call.d_bias = address(d_parameters[2 * n]), address(d_parameters[2 * n + 1])
        native.run("lstm_backward", x.dtype, call)


def _call(x: Array, lengths: Array, blocks: Blocks, directions: Sequence[Direction], out: Array, threads: int) -> _Call:
    """The fields that are the same for all directions."""
    x_text, x_word = strides(x)[0], strides(x)[-2]
    out_text, out_word, _ = strides(out)
    texts, longest, _ = out.shape
    return _Call(
        x=address(x),
        x_text=x_text,
        x_word=x_word,
        lengths=address(lengths),
        order=address(blocks.order),
        place=address(blocks.place),
        texts=texts,
        longest=longest,
        inputs=x.shape[-1],
        hidden=len(directions[0][1]) // 4,
        threads=threads,
        out_text=out_text,
        out_word=out_word,
    )
