"""Linear layers on prefixes of the same vectors, as a differentiable PyTorch function."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from pairlight.kernels.autograd.matmul import product_into


def prefix_linear_relu(x: Tensor, mask: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor]) -> Tensor:
    """relu(W_n x[..., :size of W_n] + b_n) for n = 1, 2, .., concatenated, and 0 where the mask is false."""
    parameters = [each for pair in zip(weights, biases, strict=True) for each in pair]
    y: Tensor = _PrefixLinearRelu.apply(x, mask, *parameters)  # type: ignore[no-untyped-call]
    return y


class _PrefixLinearRelu(torch.autograd.Function):
    """The composition of PyTorch functions would copy the result several times in each direction."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, mask: Tensor, *parameters: Tensor) -> Tensor:
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
    def backward(ctx: FunctionCtx, d_y: Tensor) -> tuple[Any, ...]:
        x, y, *weights = ctx.saved_tensors  # type: ignore[attr-defined]
        rows = x.reshape(-1, x.shape[-1])
        # Where the mask is false, y is 0, and so is this gradient.
        d_sums = torch.ops.aten.threshold_backward(d_y.reshape(y.shape), y, 0)
        d_rows = torch.zeros_like(rows) if ctx.needs_input_grad[0] else None  # type: ignore[attr-defined]
        gradients: list[Tensor] = []
        for weight, part in zip(weights, d_sums.split([len(weight) for weight in weights], 1), strict=True):
            size = weight.shape[1]
            d_weight = torch.empty_like(weight)
            product_into(d_weight, part.mT, rows[:, :size])
            gradients += [d_weight, part.sum(0)]
            if d_rows is not None:
                product_into(d_rows[:, :size], part, weight, add=True)
        return None if d_rows is None else d_rows.view_as(x), None, *gradients
