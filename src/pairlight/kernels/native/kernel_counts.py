"""Soft counts of similarities by Gaussian kernels, K-NRM's kernel pooling before the logarithm, on NumPy arrays.

    counts[i,k] = sum_j b[j] exp(-(s[i,j] - μ[k])² / 2σ[k]²)

for all rows i of a grid and all kernels k, either of given similarities s or of the cosines of two sets of vectors.
"""

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pairlight.core.errors import InputError
from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import Array, address, contiguous, numbers, pointers, strided, strides
from pairlight.kernels.native.library import Native
from pairlight.kernels.native.matmul import matmul

EPSILON = 1e-8  # a vector is divided by its length, but at least by this number


class Inputs(NamedTuple):
    """What is counted with, besides the similarities."""

    b: Array  # [B,R] weights of the columns
    left: Array  # [B] lengths
    right: Array  # [B]
    mu: Array  # [K] centers of the kernels
    sigma: Array  # [K] widths of the kernels


class _Call(ctypes.Structure):
    """The same fields in the same order as `KernelCounts` in csrc/kernel_counts.hpp."""

    _fields_ = (
        *pointers("s"),
        *numbers("s_pair", "s_m", "s_n", "s_row", "s_column"),
        *pointers("p", "q", "b", "left", "right", "mu", "sigma"),
        *numbers("pairs", "m", "n", "rows", "columns", "kernels", "threads"),
        *pointers("counts", "d_counts", "d_s", "d_b", "d_p", "d_q"),
    )


def kernel_counts(
    s: Array, b: Array, left_lengths: Array, right_lengths: Array, mu: Sequence[float], sigma: Sequence[float]
) -> Array:
    """s[B,C,L,R], weights b[B,R] of the columns -> counts[B,C,L,K], 0 for padding."""
    check_shapes(s, b, mu, sigma)
    check.floating(s=s, b=b)
    B, C, L, R = s.shape
    left = check.lengths("left_lengths", left_lengths, B, L)
    right = check.lengths("right_lengths", right_lengths, B, R)
    kernels = np.array(mu, s.dtype), np.array(sigma, s.dtype)
    native = library.native(s.dtype)
    if native is None:
        return kernel_counts_reference(s, b, left, right, *kernels)
    counts = np.empty((B, C, L, len(mu)), s.dtype)
    inputs = Inputs(contiguous(b), left, right, *kernels)
    kernel_counts_into(native, strided(s)[:, :, None], None, inputs, counts, threads=library.threads())
    return counts


def cosine_counts(
    u: Array,
    v: Array,
    b: Array,
    left_lengths: Array,
    right_lengths: Array,
    mu: Sequence[float],
    sigma: Sequence[float],
) -> Array:
    """`kernel_counts` of the cosines of u[B,L,M,D] and v[n·B,R,N,D], in a channel for each pair of their kinds M and N.

    b[n·B,R] -> counts[n·B,M·N,L,K]. Right text r is paired with left text r mod B.
    """
    check_cosine_shapes(u, v, b, mu, sigma)
    check.floating(u=u, v=v, b=b)
    left = check.lengths("left_lengths", left_lengths, u.shape[0], u.shape[1])
    right = check.lengths("right_lengths", right_lengths, v.shape[0], v.shape[1])
    u, v = _without_padding(u, left), _without_padding(v, right)
    left = np.tile(left, len(v) // len(u) if len(u) else 1)
    kernels = np.array(mu, u.dtype), np.array(sigma, u.dtype)
    native = library.native(u.dtype)
    if native is None or not u.size or not v.size:
        return cosine_counts_reference(u, v, b, left, right, *kernels)
    (B, L, M, D), (pairs, R, N, _) = u.shape, v.shape
    # The kernel divides the products by the lengths of the vectors while it counts.
    p, q = (contiguous((1 / _lengths(x)).swapaxes(1, 2)) for x in (u, v))
    s = matmul(u.reshape(1, B, L * M, D), v.reshape(-1, B, R * N, D).swapaxes(2, 3)).reshape(pairs, L, M, R, N)
    counts = np.empty((pairs, M, N, L, len(mu)), u.dtype)
    factors = np.tile(p, (pairs // B, 1, 1)), q
    inputs = Inputs(contiguous(b), left, right, *kernels)
    kernel_counts_into(native, s.transpose(0, 2, 4, 1, 3), factors, inputs, counts, threads=library.threads())
    return counts.reshape(pairs, M * N, L, len(mu))


def cosine_counts_reference(u: Array, v: Array, b: Array, left: Array, right: Array, mu: Array, sigma: Array) -> Array:
    """The reference implementation: the grid of all cosines, then its counts. Padding of u and v is zero."""
    x, y = ((each / _lengths(each)[..., None]).swapaxes(1, 2) for each in (u, v))
    x = np.tile(x, (len(v) // len(u) if len(u) else 1, 1, 1, 1))
    s = x[:, :, None] @ y[:, None].swapaxes(-1, -2)  # [n·B,M,N,L,R]
    s = s.reshape(len(v), u.shape[2] * v.shape[2], u.shape[1], v.shape[1])
    return kernel_counts_reference(s, b, left, right, mu, sigma)


def _lengths(x: Array) -> Array:
    """The lengths of the vectors along the last axis, at least EPSILON."""
    return np.maximum(np.sqrt(np.einsum("...d,...d->...", x, x)), x.dtype.type(EPSILON))


def _without_padding(x: Array, lengths: Array) -> Array:
    n = x.shape[1]
    if (lengths == n).all():
        return x
    return np.where((np.arange(n) < lengths[:, None])[..., None, None], x, x.dtype.type(0))


def check_shapes(s: check.Shaped, b: check.Shaped, mu: Sequence[float], sigma: Sequence[float]) -> None:
    """Check the shapes of grid and weights, NumPy arrays or PyTorch tensors, and the kernels."""
    check.dimensions("s", s, "BCLR")
    check.shape("b", b, s.shape[0], s.shape[3])
    check_kernels(mu, sigma)


def check_cosine_shapes(
    u: check.Shaped, v: check.Shaped, b: check.Shaped, mu: Sequence[float], sigma: Sequence[float]
) -> None:
    """The same for two sets of vectors."""
    check.dimensions("u", u, "BLMD")
    check.dimensions("v", v, "BRND")
    B, pairs, R, N = u.shape[0], *v.shape[:3]
    check.right_texts(pairs, B)
    check.shape("v", v, pairs, R, N, u.shape[3])
    check.shape("b", b, pairs, R)
    check_kernels(mu, sigma)


def check_kernels(mu: Sequence[float], sigma: Sequence[float]) -> None:
    if len(mu) != len(sigma) or not len(mu):
        raise InputError(f"There are {len(mu)} μ and {len(sigma)} σ: pass one of each for every kernel.")
    if min(sigma) <= 0:
        raise InputError(f"σ is {min(sigma)}: pass widths above 0.")


def kernel_counts_reference(s: Array, b: Array, left: Array, right: Array, mu: Array, sigma: Array) -> Array:
    """The reference implementation: all kernels of one pair at a time."""
    B, C, L, _ = s.shape
    counts = np.zeros((B, C, L, len(mu)), s.dtype)
    for pair, (m, n) in enumerate(zip(left, right, strict=True)):
        far = s[pair, :, :m, None, :n] - mu[:, None]  # [C,m,K,n]
        counts[pair, :, :m] = (np.exp(np.square(far) * (-0.5 / sigma**2)[:, None]) * b[pair, :n]).sum(-1)
    return counts


def kernel_counts_into(
    native: Native,
    s: Array,
    factors: tuple[Array, Array] | None,
    inputs: Inputs,
    counts: Array,
    *,
    threads: int,
) -> None:
    """Write the counts of s[B,M,N,L,R] to counts[B,M,N,L,K].

    `factors` are p[B,M,L] and q[B,N,R], by which rows and columns are multiplied. All arrays but `s` are contiguous.
    """
    call = _call(s, factors, inputs, threads)
    call.counts = address(counts)
    native.run("kernel_counts", s.dtype, call)


def kernel_counts_backward(
    native: Native,
    s: Array,
    factors: tuple[Array, Array] | None,
    inputs: Inputs,
    d_counts: Array,
    d_s: Array,
    d_b: Array,
    d_factors: tuple[Array, Array] | None,
    *,
    threads: int,
) -> None:
    """Write the gradients of `s`, in the strides of `s`, and of `b`.

    With factors, x = s p q is what is counted. Then d_factors[B,M,L] and [B,N,R] become the sums of x and its gradient
    over every row and every column, from which the gradient of normalized vectors follows.
    """
    call = _call(s, factors, inputs, threads)
    call.d_counts, call.d_s, call.d_b = address(d_counts), address(d_s), address(d_b)
    if d_factors is not None:
        call.d_p, call.d_q = map(address, d_factors)
    native.run("kernel_counts_backward", s.dtype, call)


def _call(
    s: Array,
    factors: tuple[Array, Array] | None,
    inputs: Inputs,
    threads: int,
) -> _Call:
    s_pair, s_m, s_n, s_row, s_column = strides(s)
    pairs, m, n, rows, columns = s.shape
    call = _Call(
        s=address(s),
        s_pair=s_pair,
        s_m=s_m,
        s_n=s_n,
        s_row=s_row,
        s_column=s_column,
        b=address(inputs.b),
        left=address(inputs.left),
        right=address(inputs.right),
        mu=address(inputs.mu),
        sigma=address(inputs.sigma),
        pairs=pairs,
        m=m,
        n=n,
        rows=rows,
        columns=columns,
        kernels=len(inputs.mu),
        threads=threads,
    )
    if factors is not None:
        call.p, call.q = map(address, factors)
    return call
