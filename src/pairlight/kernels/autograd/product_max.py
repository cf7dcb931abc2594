"""The largest cells of products of two texts, as a differentiable PyTorch function.

They are those of every row, those of every column, and the k largest. The gradient of a cell goes to its two words.
"""

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from pairlight.kernels.autograd import check
from pairlight.kernels.autograd.arrays import array, native_for
from pairlight.kernels.autograd.kmax import kmax_reference
from pairlight.kernels.native.library import Native
from pairlight.kernels.native.product_max import (
    ProductInputs,
    ProductMax,
    check_shapes,
    product_max_backward,
    product_max_into,
)

__all__ = ["ProductMax", "product_max", "product_max_reference"]


def product_max(u: Tensor, v: Tensor, left_lengths: Tensor, right_lengths: Tensor, k: int) -> ProductMax:
    """The largest cells of s[n·B,L,R] = u·v for u[B,L,D] and v[n·B,R,D]; k may be 0.

    Right text r is paired with left text r mod B. Of equal cells, the first is found. NaN counts as infinity.
    """
    check_shapes(u, v, k)
    check.floating(u=u, v=v)
    left = check.lengths("left_lengths", left_lengths, u.shape[0], u.shape[1], u.device)
    right = check.lengths("right_lengths", right_lengths, v.shape[0], v.shape[1], u.device)
    native = native_for(u)
    if native is None:
        return product_max_reference(u, v, left, right, k)
    return ProductMax(*_ProductMax.apply(native, left, right, k, u, v))  # type: ignore[no-untyped-call]


def product_max_reference(u: Tensor, v: Tensor, left: Tensor, right: Tensor, k: int) -> ProductMax:
    """The reference implementation: computes the whole grid, then its largest cells."""
    times = len(v) // len(u) if len(u) else 1
    left = left.repeat(times)
    in_row = torch.arange(u.shape[1], device=u.device) < left[:, None]
    in_column = torch.arange(v.shape[1], device=u.device) < right[:, None]
    # The gradient of padding must be zero, whatever is stored there.
    u = torch.where(in_row[..., None], u.repeat(times, 1, 1), 0)
    s = u @ torch.where(in_column[..., None], v, 0).mT  # [n·B,L,R]
    rows = _largest_of_rows(s, in_row, in_column)
    columns = _largest_of_rows(s.mT, in_column, in_row)
    if k == 0:
        return ProductMax(*rows, *columns, s.new_empty(len(s), 0), left.new_empty(len(s), 0))
    positions = kmax_reference(s[:, None], left, right, k)[1][:, 0]
    return ProductMax(*rows, *columns, _cells(s.flatten(1), positions), positions)


def _largest_of_rows(s: Tensor, in_row: Tensor, in_column: Tensor) -> tuple[Tensor, Tensor]:
    if s.shape[2] == 0:
        return s.sum(2), torch.full(s.shape[:2], -1, device=s.device)
    rank = torch.where(s.isnan(), torch.inf, s.detach()).masked_fill(~in_column[:, None], -torch.inf)
    present = in_row & in_column.any(1, keepdim=True)
    positions = rank.argmax(2).masked_fill(~present, -1)
    return _cells(s, positions[..., None])[..., 0], positions


def _cells(s: Tensor, positions: Tensor) -> Tensor:
    """The cells at these positions of the last axis, 0 at position -1."""
    if s.shape[-1] == 0:
        return torch.zeros_like(positions, dtype=s.dtype)
    return s.gather(-1, positions.clamp(min=0)).masked_fill(positions < 0, 0)


class _ProductMax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, native: Native, left: Tensor, right: Tensor, k: int, u: Tensor, v: Tensor
    ) -> tuple[Tensor, ...]:
        u, v = (x if x.stride(2) == 1 else x.contiguous() for x in (u, v))
        sizes = [(v.shape[0], n) for n in (u.shape[1], v.shape[1], k)]
        found = ProductMax(*(x for size in sizes for x in (u.new_empty(size), left.new_empty(size))))
        inputs = ProductInputs(*map(array, (u, v, left, right)))
        product_max_into(native, inputs, ProductMax(*map(array, found)), threads=torch.get_num_threads())
        ctx.mark_non_differentiable(found.row_positions, found.column_positions, found.positions)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(u, v, left, right, *found)
        ctx.native = native  # type: ignore[attr-defined]
        return tuple(found)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        u, v, left, right, *found = ctx.saved_tensors  # type: ignore[attr-defined]
        needed = ctx.needs_input_grad[4:]  # type: ignore[attr-defined]
        d_u, d_v = (x.new_empty(x.shape) if need else None for x, need in zip((u, v), needed, strict=True))
        product_max_backward(
            ctx.native,  # type: ignore[attr-defined]
            ProductInputs(*map(array, (u, v, left, right))),
            ProductMax(*map(array, found)),
            [None if x is None else array(x.contiguous()) for x in gradients[::2]],
            None if d_u is None else array(d_u),
            None if d_v is None else array(d_v),
            threads=torch.get_num_threads(),
        )
        return None, None, None, None, d_u, d_v
