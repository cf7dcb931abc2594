"""The largest cell of every pair of a segment of rows and a segment of columns of grids, as a PyTorch function."""

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from pairlight.kernels.autograd.arrays import array, native_for
from pairlight.kernels.native.library import Native
from pairlight.kernels.native.segment_max import segment_max_into


def segment_max(x: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """x[B,C,L,R], row numbers i[B,P,W], column numbers j[B,Q,V] -> [B,C,P,Q], the largest x at any of i[p] and j[q].

    Row and column numbers are those of existing cells. Of equal cells, the first one of the first column of j has the
    gradient.
    """
    native = native_for(x)
    if native is None:
        return segment_max_reference(x, i, j)
    y: Tensor = _SegmentMax.apply(native, x, i, j)  # type: ignore[no-untyped-call]
    return y


def segment_max_reference(x: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """The reference implementation: all cells of every pair of segments."""
    B, C, L, R = x.shape
    P, Q = i.shape[1], j.shape[1]
    cells = i[:, :, None, None, :] * R + j[:, None, :, :, None]  # [B,P,Q,V,W]
    cells = cells.reshape(B, 1, P * Q, -1).expand(B, C, -1, -1)
    x = x.reshape(B, C, L * R)
    # The maximum is found without gradient, so that the backward pass handles only the largest cells.
    best = x.detach().gather(2, cells.reshape(B, C, -1)).reshape(cells.shape).argmax(-1, keepdim=True)
    return x.gather(2, cells.gather(3, best)[..., 0]).reshape(B, C, P, Q)


class _SegmentMax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, native: Native, x: Tensor, i: Tensor, j: Tensor) -> Tensor:
        x, i, j = x.contiguous(), i.contiguous(), j.contiguous()
        y = x.new_empty(*x.shape[:2], i.shape[1], j.shape[1])
        at = torch.empty(y.shape, dtype=torch.int64)
        arrays = map(array, (x, i, j, y, at))
        segment_max_into(native, *arrays, threads=torch.get_num_threads())
        ctx.save_for_backward(at)
        ctx.shape = x.shape  # type: ignore[attr-defined]
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, d_y: Tensor) -> tuple[None, Tensor, None, None]:
        (at,) = ctx.saved_tensors  # type: ignore[attr-defined]
        d_x = d_y.new_zeros(ctx.shape)  # type: ignore[attr-defined]
        d_x.flatten(2).scatter_add_(2, at.flatten(2), d_y.flatten(2))
        return None, d_x, None, None
