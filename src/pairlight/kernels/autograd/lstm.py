"""LSTM over ragged texts, one way or both ways, in the equations of the MV-LSTM paper.

    i = σ(W_i [x_t; h_t-1] + b_i)        c_t = f c_t-1 + i tanh(W_c [x_t; h_t-1] + b_c)
    f = σ(W_f [x_t; h_t-1] + b_f)        o   = σ(W_o [x_t; h_t-1] + b_o)
                                         h_t = o tanh(c_t)

A direction has weight [4H, E+H], the rows of i, f, c, o one after another, and bias [4H].
"""

import ctypes

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from pairlight.core.errors import InputError
from pairlight.kernels.autograd import check
from pairlight.kernels.native.library import Native, native_for, numbers, pointers

_BUCKETS = 4


class _Call(ctypes.Structure):
    """The same fields in the same order as `Lstm` in csrc/lstm.hpp."""

    _fields_ = (
        *pointers("x"),
        *numbers("x_text", "x_word"),
        *pointers("lengths", "order", "place"),
        *numbers("texts", "longest", "inputs", "hidden", "reverse", "threads"),
        *pointers("weight", "bias", "out"),
        *numbers("out_text", "out_word"),
        *pointers("gates", "d_out", "d_x"),
        *numbers("d_out_text", "d_out_word", "d_x_text", "d_x_word"),
        *pointers("d_weight", "d_bias"),
    )


def lstm(x: Tensor, lengths: Tensor, weight: Tensor, bias: Tensor, *, reverse: bool = False) -> Tensor:
    """x[B,L,E] -> h[B,L,H], 0 under padding; `reverse` reads each text from its own last word to its first."""
    return _directions(x, lengths, [(weight, bias, reverse)])


def bilstm(
    x: Tensor,
    lengths: Tensor,
    forward_weight: Tensor,
    forward_bias: Tensor,
    backward_weight: Tensor,
    backward_bias: Tensor,
) -> Tensor:
    """x[B,L,E] -> h[B,L,2H], 0 under padding: the forward direction, then the backward one."""
    return _directions(x, lengths, [(forward_weight, forward_bias, False), (backward_weight, backward_bias, True)])


Direction = tuple[Tensor, Tensor, bool]


def _directions(x: Tensor, lengths: Tensor, ways: list[Direction]) -> Tensor:
    check.dimensions("x", x, "BLE")
    B, L, E = x.shape
    H = ways[0][0].shape[0] // 4
    if E < 1 or H < 1:
        raise InputError(f"x has {E} numbers a word and weight {ways[0][0].shape[0]} rows: give at least 1, and 4.")
    for weight, bias, _ in ways:
        check.floating(x=x, weight=weight, bias=bias)
        check.shape("weight", weight, 4 * H, E + H)
        check.shape("bias", bias, 4 * H)
    lengths = check.lengths("lengths", lengths, B, L, x.device)
    native = native_for(x)
    if native is None:
        return lstm_reference(x, lengths, ways)
    tensors = [tensor for weight, bias, _ in ways for tensor in (weight, bias)]
    train = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (x, *tensors))
    result: Tensor = _NativeLstm.apply(native, train, [way[2] for way in ways], lengths, x, *tensors)  # type: ignore[no-untyped-call]
    return result


def lstm_reference(x: Tensor, lengths: Tensor, ways: list[Direction]) -> Tensor:
    """The twin: one-way passes of PyTorch's own LSTM, on reversed texts for the way back, in buckets of like length."""
    B, L, _ = x.shape
    if B * L == 0:
        return x.new_zeros(B, L, len(ways) * (ways[0][0].shape[0] // 4))
    order = lengths.argsort(stable=True)
    buckets = []
    for rows in order.chunk(_BUCKETS):
        n = max(1, int(lengths[rows].amax()))
        word, length = torch.arange(n, device=x.device), lengths[rows, None]
        inside = (word < length)[..., None]
        words = x[rows, :n].masked_fill(~inside, 0)
        back = torch.where(word < length, length - 1 - word, word)[..., None]
        passes = []
        for weight, bias, reverse in ways:
            h = _pass(words.gather(1, back.expand_as(words)) if reverse else words, weight, bias)
            passes.append(h.gather(1, back.expand_as(h)) if reverse else h)
        buckets.append(F.pad(torch.cat(passes, -1).masked_fill(~inside, 0), (0, 0, 0, L - n)))
    return torch.cat(buckets)[order.argsort()]


def _pass(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    B, _, E = x.shape
    start = x.new_zeros(1, B, weight.shape[0] // 4)
    # PyTorch has a second bias: it stays 0.
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
        B, L, _ = x.shape
        H, ways = parameters[0].shape[0] // 4, len(reverse)
        x = x if x.stride(2) == 1 else x.contiguous()
        parameters = tuple(tensor.contiguous() for tensor in parameters)
        lanes = native.lanes(x.dtype)
        order = lengths.argsort(stable=True)
        steps = F.pad(lengths[order], (0, -B % lanes)).view(-1, lanes).amax(1) * (5 * H * lanes)
        place = steps.cumsum(0) - steps
        out = x.new_empty(B, L, ways * H)
        gates = [x.new_empty(int(steps.sum())) for _ in reverse] if train else []
        for way, back in enumerate(reverse):
            call = _call(x, lengths, order, place, parameters[2 * way : 2 * way + 2], out, way, back)
            call.gates = gates[way].data_ptr() if train else None
            native.run("lstm", x.dtype, call)
        if train:
            ctx.save_for_backward(lengths, order, place, x, out, *parameters, *gates)
            ctx.native, ctx.reverse = native, reverse  # type: ignore[attr-defined]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, d_out: Tensor) -> tuple[Tensor | None, ...]:
        native, reverse = ctx.native, ctx.reverse  # type: ignore[attr-defined]
        lengths, order, place, x, out, *rest = ctx.saved_tensors  # type: ignore[attr-defined]
        parameters, gates = rest[: 2 * len(reverse)], rest[2 * len(reverse) :]
        d_out = d_out if d_out.stride(2) == 1 else d_out.contiguous()
        d_x = torch.zeros(x.shape, dtype=x.dtype) if ctx.needs_input_grad[4] else None  # type: ignore[attr-defined]
        d_parameters = [torch.zeros_like(tensor) for tensor in parameters]
        H = parameters[0].shape[0] // 4
        for way, back in enumerate(reverse):
            call = _call(x, lengths, order, place, parameters[2 * way : 2 * way + 2], out, way, back)
            call.gates = gates[way].data_ptr()
            call.d_out = d_out.data_ptr() + way * H * x.element_size()
            call.d_out_text, call.d_out_word = d_out.stride(0), d_out.stride(1)
            if d_x is not None:
                call.d_x = d_x.data_ptr()
                call.d_x_text, call.d_x_word = d_x.stride(0), d_x.stride(1)
            call.d_weight, call.d_bias = (tensor.data_ptr() for tensor in d_parameters[2 * way : 2 * way + 2])
            native.run("lstm_backward", x.dtype, call)
        return None, None, None, None, d_x, *d_parameters


def _call(
    x: Tensor,
    lengths: Tensor,
    order: Tensor,
    place: Tensor,
    parameters: tuple[Tensor, ...],
    out: Tensor,
    way: int,
    reverse: bool,
) -> _Call:
    weight, bias = parameters
    H = weight.shape[0] // 4
    return _Call(
        x=x.data_ptr(),
        x_text=x.stride(0),
        x_word=x.stride(1),
        lengths=lengths.data_ptr(),
        order=order.data_ptr(),
        place=place.data_ptr(),
        texts=x.shape[0],
        longest=x.shape[1],
        inputs=x.shape[2],
        hidden=H,
        reverse=reverse,
        threads=torch.get_num_threads(),
        weight=weight.data_ptr(),
        bias=bias.data_ptr(),
        out=out.data_ptr() + way * H * out.element_size(),
        out_text=out.stride(0),
        out_word=out.stride(1),
    )
