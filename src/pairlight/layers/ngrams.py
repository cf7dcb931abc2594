"""Vectors of word n-grams of several lengths, and their cosine similarities."""

from typing import Any

import torch
from torch.autograd.function import FunctionCtx, once_differentiable

from pairlight.kernels.autograd.matmul import product_into
from pairlight.layers.convolution import Conv, unfold
from pairlight.layers.interactions import Interaction, unit
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Grid, Seq, masked_grid, tile_left


class NgramConv(Layer):
    """g_t = [g_t^1 ; g_t^2 ; ..], the n-grams of 1, 2, .. words that start at word t.   Seq -> Seq

    g_t^n = relu(W^n [x_t ; .. ; x_t+n-1] + b^n), with zero vectors after the end of the text.
    """

    def __init__(self, dim: int, filters: int, grams: int) -> None:
        self.convs = [Conv(dim, filters, n + 1) for n in range(grams)]

    def forward(self, u: Seq) -> Seq:
        # A window of the longest n-gram starts with those of the shorter ones.
        grams = len(self.convs)
        windows = unfold(u, grams, 0, grams - 1)
        parameters = [each for conv in self.convs for each in (conv.filters.weight, conv.filters.bias)]
        return Seq(_PrefixLinearRelu.apply(windows, u.mask, *parameters), u.mask, u.ids)  # type: ignore[no-untyped-call]


class _PrefixLinearRelu(torch.autograd.Function):
    """relu(W_n x[:size of W_n] + b_n) for n = 1, 2, .., next to each other, and 0 where the mask is false.

    The composition of PyTorch functions would copy the result several times in each direction.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, x: Array, mask: Array, *parameters: Array) -> Array:
        weights, biases = parameters[::2], parameters[1::2]
        rows = x.reshape(-1, x.shape[-1])
        y = x.new_empty(len(rows), sum(map(len, weights)))
        parts = y.split([len(weight) for weight in weights], 1)
        for weight, bias, part in zip(weights, biases, parts, strict=True):
            product_into(part, rows[:, : weight.shape[1]], weight.mT, bias)
        y.relu_()
        if not mask.all():
            y.masked_fill_(~mask.reshape(-1, 1), 0)
        ctx.save_for_backward(x, y, *weights)
        return y.view(*x.shape[:-1], -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, d_y: Array) -> tuple[Any, ...]:
        x, y, *weights = ctx.saved_tensors  # type: ignore[attr-defined]
        rows = x.reshape(-1, x.shape[-1])
        # Where the mask is false, y is 0, and so is this gradient.
        d_sums = torch.ops.aten.threshold_backward(d_y.reshape(y.shape), y, 0)
        d_rows = torch.zeros_like(rows) if ctx.needs_input_grad[0] else None  # type: ignore[attr-defined]
        gradients: list[Array] = []
        for weight, part in zip(weights, d_sums.split([len(weight) for weight in weights], 1), strict=True):
            size = weight.shape[1]
            d_weight = torch.empty_like(weight)
            product_into(d_weight, part.mT, rows[:, :size])
            gradients += [d_weight, part.sum(0)]
            if d_rows is not None:
                product_into(d_rows[:, :size], part, weight, add=True)
        return None if d_rows is None else d_rows.view_as(x), None, *gradients


class NgramCosine(Interaction):
    """s_ij^ab = cosine of g_i^a and g_j^b, one channel for each pair of lengths, ordered by a, then b.   -> Grid"""

    def __init__(self, grams: int) -> None:
        self.grams, self.channels = grams, grams**2

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = tile_left(self.normalize(u), self.normalize(v))
        B, L, R, G = len(v.x), u.x.shape[1], v.x.shape[1], self.grams
        # All lengths next to each other: one matrix product for each pair of texts instead of one for each channel.
        s = u.x.view(B, L * G, -1) @ v.x.view(B, R * G, -1).mT
        return masked_grid(u, v, s.view(B, L, G, R, G).permute(0, 2, 4, 1, 3).flatten(1, 2))  # [B, G·G, L, R]

    def normalize(self, u: Seq) -> Seq:
        """Every n-gram vector with length 1."""
        return u.with_x(unit(self.split(u)).flatten(2))

    def split(self, u: Seq) -> Array:
        """The n-gram vectors of each length: [B, L, grams, D]."""
        return u.x.view(*u.x.shape[:2], self.grams, -1)
