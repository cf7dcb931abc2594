"""LSTM over texts of different lengths, in one direction or both, as differentiable PyTorch functions.

The equations are those of `pairlight.kernels.native.lstm`. A direction has weight[4H,E+H], with the rows of i, f, c and
o in this order, and bias[4H].
"""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from pairlight.kernels.autograd import check
from pairlight.kernels.autograd.arrays import array, native_for
from pairlight.kernels.native.library import Native
from pairlight.kernels.native.lstm import Direction as NativeDirection
from pairlight.kernels.native.lstm import check_shapes, lstm_backward, lstm_blocks, lstm_forward
from pairlight.kernels.native.lstm import lstm_of_rows as native_of_rows

Direction = tuple[Tensor, Tensor, bool]  # weight, bias, reverse

_BUCKETS = 4


def lstm(x: Tensor, lengths: Tensor, weight: Tensor, bias: Tensor, *, reverse: bool = False) -> Tensor:
    """x[B,L,E] -> h[B,L,H], 0 for padding; `reverse` reads each text from its last word to its first."""
    return _directions(x, lengths, [(weight, bias, reverse)])


def bilstm(
    x: Tensor,
    lengths: Tensor,
    forward_weight: Tensor,
    forward_bias: Tensor,
    backward_weight: Tensor,
    backward_bias: Tensor,
) -> Tensor:
    """x[B,L,E] -> h[B,L,2H], 0 for padding: the states of the forward direction, then of the backward direction."""
    return _directions(x, lengths, [(forward_weight, forward_bias, False), (backward_weight, backward_bias, True)])


def lstm_of_rows(x: Tensor, rows: Tensor, lengths: Tensor, directions: list[Direction]) -> Tensor:
    """x[U,E], rows[B,L] -> h[B,L,directions·H], 0 for padding: the states of texts whose words are rows of x.

    Without gradients, the product of a row with the weights is computed once, however often its word occurs.
    """
    if torch.is_grad_enabled() or native_for(x) is None:
        return _directions(F.embedding(rows, x), lengths, directions)
    arrays = [(array(weight), array(bias), reverse) for weight, bias, reverse in directions]
    return torch.from_numpy(native_of_rows(array(x), array(rows), array(lengths), arrays, torch.get_num_threads()))


def _directions(x: Tensor, lengths: Tensor, directions: list[Direction]) -> Tensor:
    check_shapes(x, directions)
    for weight, bias, _ in directions:
        check.floating(x=x, weight=weight, bias=bias)
    lengths = check.lengths("lengths", lengths, x.shape[0], x.shape[1], x.device)
    native = native_for(x)
    if native is None:
        return lstm_reference(x, lengths, directions)
    parameters = [tensor for weight, bias, _ in directions for tensor in (weight, bias)]
    train = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (x, *parameters))
    reverse = [direction[2] for direction in directions]
    result: Tensor = _NativeLstm.apply(native, train, reverse, lengths, x, *parameters)  # type: ignore[no-untyped-call]
    return result


def lstm_reference(x: Tensor, lengths: Tensor, directions: list[Direction]) -> Tensor:
    """The reference implementation: one pass of PyTorch's LSTM for each direction, in buckets of similar length."""
    B, L, _ = x.shape
    if B * L == 0:
        return x.new_zeros(B, L, len(directions) * (directions[0][0].shape[0] // 4))
    order = lengths.argsort(stable=True)
    buckets = []
    for rows in order.chunk(_BUCKETS):
        n = max(1, int(lengths[rows].amax()))
        word, length = torch.arange(n, device=x.device), lengths[rows, None]
        inside = (word < length)[..., None]
        words = x[rows, :n].masked_fill(~inside, 0)
        reversed_word = torch.where(word < length, length - 1 - word, word)[..., None]
        passes = []
        for weight, bias, reverse in directions:
            h = _pass(words.gather(1, reversed_word.expand_as(words)) if reverse else words, weight, bias)
            passes.append(h.gather(1, reversed_word.expand_as(h)) if reverse else h)
        buckets.append(F.pad(torch.cat(passes, -1).masked_fill(~inside, 0), (0, 0, 0, L - n)))
    return torch.cat(buckets)[order.argsort()]


def _pass(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    B, _, E = x.shape
    start = x.new_zeros(1, B, weight.shape[0] // 4)
    # PyTorch's LSTM has a second bias, which is not used here.
    weights = [weight[:, :E].contiguous(), weight[:, E:].contiguous(), bias, torch.zeros_like(bias)]
    h: Tensor = torch.lstm(x, [start, start], weights, True, 1, 0.0, False, False, True)[0]
    return h


class _NativeLstm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        native: Native,
        train: bool,
        reverse: list[bool],
        lengths: Tensor,
        x: Tensor,
        *parameters: Tensor,
    ) -> Tensor:
        H = parameters[0].shape[0] // 4
        x = x if x.stride(2) == 1 else x.contiguous()
        parameters = tuple(tensor.contiguous() for tensor in parameters)
        words, counts = array(x), array(lengths)
        blocks = lstm_blocks(counts, H, native.lanes(words.dtype))
        out = x.new_empty(x.shape[0], x.shape[1], len(reverse) * H)
        gates = [x.new_empty(blocks.size) for _ in reverse] if train else []
        lstm_forward(
            native,
            words,
            counts,
            blocks,
            _arrays(parameters, reverse),
            array(out),
            [array(each) for each in gates],
            threads=torch.get_num_threads(),
        )
        if train:
            ctx.save_for_backward(lengths, x, out, *parameters, *gates)
            ctx.native, ctx.reverse, ctx.blocks = native, reverse, blocks  # type: ignore[attr-defined]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, d_out: Tensor) -> tuple[Tensor | None, ...]:
        reverse: list[bool] = ctx.reverse  # type: ignore[attr-defined]
        lengths, x, out, *rest = ctx.saved_tensors  # type: ignore[attr-defined]
        parameters, gates = rest[: 2 * len(reverse)], rest[2 * len(reverse) :]
        d_out = d_out if d_out.stride(2) == 1 else d_out.contiguous()
        d_x = torch.zeros(x.shape, dtype=x.dtype) if ctx.needs_input_grad[4] else None  # type: ignore[attr-defined]
        d_parameters = [torch.zeros_like(tensor) for tensor in parameters]
        lstm_backward(
            ctx.native,  # type: ignore[attr-defined]
            array(x),
            array(lengths),
            ctx.blocks,  # type: ignore[attr-defined]
            _arrays(parameters, reverse),
            array(out),
            [array(each) for each in gates],
            array(d_out),
            None if d_x is None else array(d_x),
            [array(each) for each in d_parameters],
            threads=torch.get_num_threads(),
        )
        return None, None, None, None, d_x, *d_parameters


def _arrays(parameters: tuple[Tensor, ...] | list[Tensor], reverse: list[bool]) -> list[NativeDirection]:
    arrays = [array(tensor) for tensor in parameters]
    return list(zip(arrays[::2], arrays[1::2], reverse, strict=True))
