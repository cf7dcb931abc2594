"""The vectors of all n-grams of texts, as a differentiable PyTorch function.

The equation is that of `pairlight.kernels.native.ngram_sums`.
"""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from pairlight.kernels.autograd import check
from pairlight.kernels.autograd.arrays import array, native_for
from pairlight.kernels.native.library import Native
from pairlight.kernels.native.ngram_sums import check_range, check_shapes, ngram_sums_backward, ngram_sums_into


def ngram_sums(p: Tensor, at: Tensor, grams: int) -> Tensor:
    """p[N,F·grams·(grams+1)/2], ordered by n, then j; at[B,L], -1 where there is no word -> y[B,L,grams·F].

    After the end of a text, and where there is no word, parts are 0. An n-gram that starts there is 0.
    """
    check.floating(p=p)
    filters = check_shapes(p, at, grams)
    at = check.integers("at", at, p.device)
    if at.numel():
        least, most = at.aminmax()
        check_range(int(least), int(most), len(p))
    native = native_for(p)
    if native is None:
        return ngram_sums_reference(p, at, grams, filters)
    y: Tensor = _NgramSums.apply(native, p, at, grams, filters)  # type: ignore[no-untyped-call]
    return y


def ngram_sums_reference(p: Tensor, at: Tensor, grams: int, filters: int) -> Tensor:
    """The reference implementation: the parts of all positions, then their sums."""
    with_zeros = F.pad(p, (0, 0, 0, 1))  # position -1 reads the row of zeros
    parts = F.pad(with_zeros[at], (0, 0, 0, grams - 1)).unflatten(-1, (-1, filters))  # [B,L+grams-1,parts,F]
    L = at.shape[1]
    sums = [
        torch.stack([parts[:, j : j + L, n * (n - 1) // 2 + j] for j in range(n)]).sum(0) for n in range(1, grams + 1)
    ]
    return torch.where((at >= 0)[..., None], torch.cat(sums, -1).relu(), 0)


class _NgramSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, native: Native, p: Tensor, at: Tensor, grams: int, filters: int) -> Tensor:
        p = p.contiguous()
        y = p.new_empty(*at.shape, grams * filters)
        ngram_sums_into(native, array(p), array(at), array(y), grams, threads=torch.get_num_threads())
        ctx.save_for_backward(at, y)
        ctx.native, ctx.grams, ctx.shape = native, grams, p.shape  # type: ignore[attr-defined]
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, d_y: Tensor) -> tuple[Tensor | None, ...]:
        at, y = ctx.saved_tensors  # type: ignore[attr-defined]
        d_p = y.new_empty(ctx.shape)  # type: ignore[attr-defined]
        ngram_sums_backward(
            ctx.native,  # type: ignore[attr-defined]
            array(d_p),
            array(at),
            array(y),
            array(d_y.contiguous()),
            ctx.grams,  # type: ignore[attr-defined]
            threads=torch.get_num_threads(),
        )
        return None, d_p, None, None, None
