"""Convolution over grids as a PyTorch function whose backward pass skips cells without a gradient.

After max pooling, few cells of the result have one.
"""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from pairlight.kernels.autograd.arrays import array, native_for
from pairlight.kernels.native.conv2d import conv2d_backward_into

# Skipping cells is faster than PyTorch for at most this share of cells with a gradient, and for fewer channels than
# PyTorch's kernels for SIMD instructions need.
SPARSE, FEW = 1 / 8, 8


def conv2d(x: Tensor, weight: Tensor, bias: Tensor | None, padding: int = 0) -> Tensor:
    """x[B,C,H,W], weight[maps,C,rows,columns] -> [B,maps,L,R], with so many zeros around x."""
    if native_for(x) is None or not torch.is_grad_enabled() or x.shape[1] >= FEW:
        return F.conv2d(x, weight, bias, padding=padding)
    y: Tensor = _Conv2d.apply(x, weight, bias, padding)  # type: ignore[no-untyped-call]
    return y


class _Conv2d(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor, bias: Tensor | None, padding: int) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.padding = padding  # type: ignore[attr-defined]
        return F.conv2d(x, weight, bias, padding=padding)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, d_y: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        x, weight = ctx.saved_tensors  # type: ignore[attr-defined]
        padding, needed = ctx.padding, ctx.needs_input_grad  # type: ignore[attr-defined]
        native = native_for(x)
        if native is None or d_y.count_nonzero() > SPARSE * d_y.numel():
            d_x, d_weight, d_bias = torch.ops.aten.convolution_backward(
                d_y, x, weight, [len(weight)], [1, 1], [padding, padding], [1, 1], False, [0, 0], 1, needed[:3]
            )
            return d_x, d_weight, d_bias, None
        d_x = torch.empty(x.shape, dtype=x.dtype) if needed[0] else None
        d_weight = torch.empty(weight.shape, dtype=x.dtype)
        conv2d_backward_into(
            native,
            array(x.contiguous()),
            array(weight.contiguous()),
            array(d_y.contiguous()),
            None if d_x is None else array(d_x),
            array(d_weight),
            padding,
            threads=torch.get_num_threads(),
        )
        return d_x, d_weight, d_y.sum((0, 2, 3)) if needed[2] else None, None
