"""Matrix products as PyTorch functions, computed with the whole SIMD width of the CPU.

PyTorch's own products use half of AVX-512 on some CPUs, so the native kernel replaces them where it is as wide.
"""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from pairlight.kernels.autograd.arrays import array, native_for
from pairlight.kernels.native.matmul import matmul_into

# Multiplications below which PyTorch's product takes no longer: of a whole product, and of one matrix of a batch.
LARGE, LARGE_OF_BATCH = 2_000_000, 100_000


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x Wᵀ + b for x[..,D] and weight[N,D]."""
    if x.dim() < 2 or x.numel() * len(weight) < LARGE or not _wide(x, weight):
        return F.linear(x, weight, bias)
    return add_product(x.new_zeros(len(weight)) if bias is None else bias, x, weight)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """a b for matrices or batches of them, as `torch.matmul`."""
    if not (a.dim() == b.dim() == 3 and len(a) == len(b)) or a[0].numel() * b.shape[2] < LARGE_OF_BATCH:
        return torch.matmul(a, b)
    if not _wide(a, b):
        return torch.matmul(a, b)
    y: Tensor = _BatchProduct.apply(a, b)  # type: ignore[no-untyped-call]
    return y


def _wide(a: Tensor, b: Tensor) -> bool:
    native = native_for(a) if a.dtype == b.dtype else None
    return native is not None and native.width == "avx512"


def add_product(start: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """start + x Wᵀ for x[..,D] and weight[N,D]; `start` is a bias[N] or has the shape of the result."""
    y: Tensor = _AddProduct.apply(start, x, weight)  # type: ignore[no-untyped-call]
    return y


def product_into(out: Tensor, a: Tensor, b: Tensor, bias: Tensor | None = None, *, add: bool = False) -> None:
    """Write a b + bias to `out`, or add a b to it, without gradients: matrices, or batches of matrices.

    The last axis of `out` is contiguous.
    """
    single = out.dim() == 2
    native = native_for(out)
    if native is not None and native.width == "avx512":
        a, b = (_one_contiguous(x[None] if single else x) for x in (a, b))
        bias_array = None if bias is None else array(bias.contiguous())
        c = array(out[None] if single else out)
        matmul_into(native, array(a), array(b), c, bias_array, add=add, threads=torch.get_num_threads())
    elif add:
        _ = out.addmm_(a, b) if single else out.baddbmm_(a, b)
    elif bias is not None:
        _ = torch.addmm(bias, a, b, out=out) if single else torch.baddbmm(bias, a, b, out=out)
    else:
        torch.matmul(a, b, out=out)


def _one_contiguous(x: Tensor) -> Tensor:
    return x if 1 in x.stride()[1:] else x.contiguous()


class _AddProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, start: Tensor, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.of_rows = start.dim() > 1  # type: ignore[attr-defined]
        y = x.new_empty(*x.shape[:-1], len(weight))
        if start.dim() > 1:
            y.copy_(start)
            product_into(y.flatten(0, -2), x.flatten(0, -2), weight.mT, add=True)
        else:
            product_into(y.flatten(0, -2), x.flatten(0, -2), weight.mT, start)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, d_y: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors  # type: ignore[attr-defined]
        rows = d_y.flatten(0, -2)
        d_x = d_weight = None
        if ctx.needs_input_grad[1]:  # type: ignore[attr-defined]
            d_x = torch.empty(x.shape, dtype=x.dtype, device=x.device)
            product_into(d_x.flatten(0, -2), rows, weight)
        if ctx.needs_input_grad[2]:  # type: ignore[attr-defined]
            d_weight = torch.empty(weight.shape, dtype=x.dtype, device=x.device)
            product_into(d_weight, rows.mT, x.flatten(0, -2))
        if not ctx.needs_input_grad[0]:  # type: ignore[attr-defined]
            return None, d_x, d_weight
        return d_y if ctx.of_rows else rows.sum(0), d_x, d_weight  # type: ignore[attr-defined]


class _BatchProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return _product(a, b)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, d_y: Tensor) -> tuple[Tensor | None, Tensor | None]:
        a, b = ctx.saved_tensors  # type: ignore[attr-defined]
        of_a, of_b = ctx.needs_input_grad  # type: ignore[attr-defined]
        return _product(d_y, b.mT) if of_a else None, _product(a.mT, d_y) if of_b else None


def _product(a: Tensor, b: Tensor) -> Tensor:
    y = torch.empty(len(a), a.shape[1], b.shape[2], dtype=a.dtype)
    product_into(y, a, b)
    return y
