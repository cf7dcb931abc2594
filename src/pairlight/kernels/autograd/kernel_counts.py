"""Soft counts of similarities by Gaussian kernels, as differentiable PyTorch functions.

The equation is that of `pairlight.kernels.native.kernel_counts`.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from pairlight.kernels.autograd import check
from pairlight.kernels.autograd.arrays import array, native_for
from pairlight.kernels.autograd.matmul import product_into
from pairlight.kernels.native.kernel_counts import (
    EPSILON,
    Inputs,
    check_cosine_shapes,
    check_shapes,
    kernel_counts_backward,
    kernel_counts_into,
)
from pairlight.kernels.native.library import Native


def kernel_counts(
    s: Tensor, b: Tensor, left_lengths: Tensor, right_lengths: Tensor, mu: Sequence[float], sigma: Sequence[float]
) -> Tensor:
    """s[B,C,L,R], weights b[B,R] of the columns -> counts[B,C,L,K], 0 for padding."""
    check_shapes(s, b, mu, sigma)
    check.floating(s=s, b=b)
    left = check.lengths("left_lengths", left_lengths, s.shape[0], s.shape[2], s.device)
    right = check.lengths("right_lengths", right_lengths, s.shape[0], s.shape[3], s.device)
    native = native_for(s)
    if native is None:
        return kernel_counts_reference(s, b, left, right, mu, sigma)
    kernels = s.new_tensor(mu), s.new_tensor(sigma)
    counts: Tensor = _KernelCounts.apply(native, left, right, *kernels, s, b)  # type: ignore[no-untyped-call]
    return counts


def cosine_counts(
    u: Tensor,
    v: Tensor,
    b: Tensor,
    left_lengths: Tensor,
    right_lengths: Tensor,
    mu: Sequence[float],
    sigma: Sequence[float],
) -> Tensor:
    """`kernel_counts` of the cosines of u[B,L,M,D] and v[n·B,R,N,D], in a channel for each pair of their kinds M and N.

    b[n·B,R] -> counts[n·B,M·N,L,K]. Right text r is paired with left text r mod B.
    """
    check_cosine_shapes(u, v, b, mu, sigma)
    check.floating(u=u, v=v, b=b)
    left = check.lengths("left_lengths", left_lengths, u.shape[0], u.shape[1], u.device)
    right = check.lengths("right_lengths", right_lengths, v.shape[0], v.shape[1], u.device)
    native = native_for(u)
    # The products of padding with zeros must be zero, whatever is stored there.
    u, v = _without_padding(u, left), _without_padding(v, right)
    left = left.repeat(len(v) // len(u) if len(u) else 1)
    if native is None or v.numel() == 0 or u.numel() == 0:
        return cosine_counts_reference(u, v, b, left, right, mu, sigma)
    kernels = u.new_tensor(mu), u.new_tensor(sigma)
    counts: Tensor = _CosineCounts.apply(native, left, right, *kernels, u, v, b)  # type: ignore[no-untyped-call]
    return counts.flatten(1, 2)


def _without_padding(x: Tensor, lengths: Tensor) -> Tensor:
    n = x.shape[1]
    if not len(x) or int(lengths.amin()) == n:
        return x
    return torch.where((torch.arange(n, device=x.device) < lengths[:, None])[..., None, None], x, 0)


def kernel_counts_reference(
    s: Tensor, b: Tensor, left: Tensor, right: Tensor, mu: Sequence[float], sigma: Sequence[float]
) -> Tensor:
    """The reference implementation: one kernel at a time, because all at once would write a K times larger grid."""
    row, column = (torch.arange(n, device=s.device) for n in s.shape[2:])
    in_row, in_column = (row < left[:, None])[:, None, :, None], (column < right[:, None])[:, None, None, :]
    x = torch.where(in_row & in_column, s, 0)
    weight = torch.where(in_column, b[:, None, None, :], 0) * in_row
    near = ((x - m).square().mul_(-0.5 / w**2).exp_() for m, w in zip(mu, sigma, strict=True))
    return torch.stack([(each * weight).sum(-1) for each in near], -1)


def cosine_counts_reference(
    u: Tensor, v: Tensor, b: Tensor, left: Tensor, right: Tensor, mu: Sequence[float], sigma: Sequence[float]
) -> Tensor:
    """The reference implementation: the grid of all cosines, then its counts. Padding of u and v is zero."""
    x, y = (F.normalize(each, dim=-1, eps=EPSILON).transpose(1, 2) for each in (u, v))
    x = x.repeat(len(v) // len(u) if len(u) else 1, 1, 1, 1)
    s = (x[:, :, None] @ y[:, None].mT).flatten(1, 2)  # [n·B,M·N,L,R]
    return kernel_counts_reference(s, b, left, right, mu, sigma)


class _KernelCounts(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, native: Native, left: Tensor, right: Tensor, mu: Tensor, sigma: Tensor, s: Tensor, b: Tensor
    ) -> Tensor:
        s, b = s.contiguous(), b.contiguous()
        counts = s.new_empty(*s.shape[:3], len(mu))
        inputs = Inputs(*map(array, (b, left, right, mu, sigma)))
        kernel_counts_into(native, array(s)[:, :, None], None, inputs, array(counts), threads=torch.get_num_threads())
        ctx.save_for_backward(s, b, left, right, mu, sigma)
        ctx.native = native  # type: ignore[attr-defined]
        return counts

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, d_counts: Tensor) -> tuple[Tensor | None, ...]:
        s, b, *rest = ctx.saved_tensors  # type: ignore[attr-defined]
        d_s, d_b = torch.empty_like(s), torch.empty_like(b)
        kernel_counts_backward(
            ctx.native,  # type: ignore[attr-defined]
            array(s)[:, :, None],
            None,
            Inputs(*map(array, (b, *rest))),
            array(d_counts.contiguous()),
            array(d_s),
            array(d_b),
            None,
            threads=torch.get_num_threads(),
        )
        return None, None, None, None, None, d_s, d_b


class _CosineCounts(torch.autograd.Function):
    """Products are those of PyTorch; the kernel divides them by the lengths of the vectors while it counts."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        native: Native,
        left: Tensor,
        right: Tensor,
        mu: Tensor,
        sigma: Tensor,
        u: Tensor,
        v: Tensor,
        b: Tensor,
    ) -> Tensor:
        u, v, b = u.contiguous(), v.contiguous(), b.contiguous()
        B, L, M, _ = u.shape
        pairs, R, N, _ = v.shape
        lengths = [torch.linalg.vector_norm(x, dim=-1) for x in (u, v)]
        p, q = ((1 / x.clamp(min=EPSILON)).transpose(1, 2) for x in lengths)
        p, q = p.repeat(pairs // B, 1, 1), q.contiguous()
        s = u.new_empty(pairs, L * M, R * N)
        for at in _groups(pairs, B):
            product_into(s[at], u.view(B, L * M, -1), v[at].view(B, R * N, -1).mT)
        s = s.view(pairs, L, M, R, N)
        counts = u.new_empty(pairs, M, N, L, len(mu))
        inputs = Inputs(*map(array, (b, left, right, mu, sigma)))
        factors = array(p), array(q)
        kernel_counts_into(
            native, array(_by_channel(s)), factors, inputs, array(counts), threads=torch.get_num_threads()
        )
        ctx.save_for_backward(u, v, s, p, q, b, left, right, mu, sigma)
        ctx.native = native  # type: ignore[attr-defined]
        return counts

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, d_counts: Tensor) -> tuple[Tensor | None, ...]:
        u, v, s, p, q, b, *rest = ctx.saved_tensors  # type: ignore[attr-defined]
        B, L, M, D = u.shape
        pairs, _, _, R, N = s.shape
        d_s, d_b, p_sums, q_sums = (torch.empty_like(x) for x in (s, b, p, q))
        kernel_counts_backward(
            ctx.native,  # type: ignore[attr-defined]
            array(_by_channel(s)),
            (array(p), array(q)),
            Inputs(*map(array, (b, *rest))),
            array(d_counts.contiguous()),
            array(_by_channel(d_s)),
            array(d_b),
            (array(p_sums), array(q_sums)),
            threads=torch.get_num_threads(),
        )
        # For û = u / |u|, the gradient of u is that of the product minus u (û · d_û) / |u|².
        d_u = (u * _along(p_sums.view(-1, B, M, L).sum(0), p[:B])).view(B, L * M, D)
        d_v = (v * _along(q_sums, q)).view(pairs, R * N, D)
        for at in _groups(pairs, B):
            part = d_s[at].view(B, L * M, R * N)
            product_into(d_u, part, v[at].view(B, R * N, D), add=True)
            product_into(d_v[at], part.mT, u.view(B, L * M, D), add=True)
        return None, None, None, None, None, d_u.view_as(u), d_v.view_as(v), d_b


def _groups(pairs: int, lefts: int) -> list[slice]:
    """The pairs in groups that contain each left text once."""
    return [slice(first, first + lefts) for first in range(0, pairs, lefts)]


def _by_channel(s: Tensor) -> Tensor:
    """[B,L,M,R,N] -> [B,M,N,L,R]"""
    return s.permute(0, 2, 4, 1, 3)


def _along(sums: Tensor, inverse: Tensor) -> Tensor:
    """-(û · d_û) / |u|² of every vector, 0 for vectors that are not divided by their own length: -> [B,L,M,1]"""
    factor = torch.where(inverse < 0.999 / EPSILON, -sums * inverse.square(), 0)
    return factor.transpose(1, 2)[..., None]
