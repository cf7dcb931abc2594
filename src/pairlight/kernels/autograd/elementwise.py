"""Masking and vectors of length 1 as PyTorch functions, several times as fast as PyTorch's own on a CPU."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn import functional as F


def where(condition: Tensor, x: Any, y: Any) -> Tensor:
    """torch.where(condition, x, y), with the same bits. Where the condition holds everywhere, `x` is not copied.

    PyTorch selects numbers one by one. Masks of bits select whole registers, and keep NaN of masked positions out.
    """
    if not (isinstance(x, Tensor) and isinstance(y, int | float) and x.dtype == torch.float32):
        return torch.where(condition, x, y)
    if x.device.type != "cpu" or not _broadcasts_to(condition.shape, x.shape):
        return torch.where(condition, x, y)
    if condition.all():
        return x
    selected: Tensor = _Where.apply(condition, x, float(y))  # type: ignore[no-untyped-call]
    return selected


def _broadcasts_to(shape: torch.Size, other: torch.Size) -> bool:
    """Whether arrays of these shapes together have the second one."""
    return len(shape) <= len(other) and all(a in (1, b) for a, b in zip(reversed(shape), reversed(other), strict=False))


def normalize(x: Tensor, eps: float) -> Tensor:
    """x divided by the lengths of its vectors, or by `eps` where they are shorter."""
    if not (torch.is_grad_enabled() and x.requires_grad):
        return F.normalize(x, dim=-1, eps=eps)
    y: Tensor = _Normalize.apply(x, eps)  # type: ignore[no-untyped-call]
    return y


class _Where(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, condition: Tensor, x: Tensor, y: float) -> Tensor:
        ctx.save_for_backward(condition)
        keep = -condition.int()  # all bits of an element are 1 where it is kept
        bits = x.contiguous().view(torch.int32) & keep
        if y != 0:
            bits.bitwise_or_(~keep & torch.tensor(y).view(torch.int32))
        return bits.view(torch.float32)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, d: Tensor) -> tuple[None, Tensor, None]:
        (condition,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return None, where(condition, d, 0), None


class _Normalize(torch.autograd.Function):
    """y = x / |x|, so the gradient of x is (d - y (y·d)) / |x|."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, eps: float) -> Tensor:
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        y = x / norm.clamp(min=eps)
        ctx.save_for_backward(y, norm)
        ctx.eps = eps  # type: ignore[attr-defined]
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, d: Tensor) -> tuple[Tensor, None]:
        y, norm = ctx.saved_tensors  # type: ignore[attr-defined]
        eps = ctx.eps  # type: ignore[attr-defined]
        along = (y * d).sum(-1, keepdim=True) * (norm >= eps)  # a shorter vector is divided by a constant
        return torch.addcmul(d, y, along, value=-1).div_(norm.clamp(min=eps)), None
