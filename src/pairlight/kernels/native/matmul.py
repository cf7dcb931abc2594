"""Products of a batch of matrices, on NumPy arrays: c = a b + bias, or c += a b."""

import ctypes

import numpy as np

from pairlight.kernels.native import library
from pairlight.kernels.native.buffers import Array, address, contiguous, numbers, pointers, strides
from pairlight.kernels.native.library import Native


class _Call(ctypes.Structure):
    """The same fields in the same order as `MatMul` in csrc/matmul.hpp."""

    _fields_ = (
        *pointers("a"),
        *numbers("a_batch", "a_row", "a_column"),
        *pointers("b"),
        *numbers("b_batch", "b_row", "b_column"),
        *pointers("c"),
        *numbers("c_batch", "c_row"),
        *pointers("bias"),
        *numbers("batch", "m", "k", "n", "add", "threads"),
    )


def linear(x: Array, weight: Array, bias: Array | None = None, threads: int | None = None) -> Array:
    """x Wᵀ + b for x[..,D] and weight[N,D]."""
    rows = contiguous(x.reshape(-1, x.shape[-1]))
    y = np.empty((len(rows), len(weight)), x.dtype)
    product_into(y, rows, weight.T, bias, threads)
    return y.reshape(*x.shape[:-1], len(weight))


def product_into(out: Array, a: Array, b: Array, bias: Array | None = None, threads: int | None = None) -> None:
    """Write a b + bias to out[M,N], whose last axis is contiguous, for a[M,K] and b[K,N].

    Not by NumPy's own product, which is slower for most sizes here, and whose threads slow down a busy machine.
    """
    native = library.native(out.dtype)
    fits = out.size and a.size and a.dtype == b.dtype == out.dtype
    if native is None or not fits:
        np.matmul(a, b, out=out)
        if bias is not None:
            out += bias
        return
    bias = None if bias is None else contiguous(bias)
    a, b = _one_contiguous(a), _one_contiguous(b)
    matmul_into(native, a[None], b[None], out[None], bias, threads=threads or library.threads())


def matmul(a: Array, b: Array) -> Array:
    """a b for matrices or batches of them, as `np.matmul`: a[..,M,K], b[..,K,N] -> [..,M,N]."""
    native = library.native(a.dtype)
    if native is None or a.dtype != b.dtype or b.ndim < 2 or a.ndim < 2 or not a.size or not b.size:
        return np.asarray(a @ b)
    if b.ndim == 2:
        return linear(a, b.T)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (_one_contiguous(np.broadcast_to(each, (*batch, *each.shape[-2:]))) for each in (a, b))
    c = np.empty((*batch, a.shape[-2], b.shape[-1]), a.dtype)
    for index in np.ndindex(batch[:-1]):
        matmul_into(native, a[index], b[index], c[index], threads=library.threads())
    return c


def _one_contiguous(x: Array) -> Array:
    """The array itself if it is aligned and one of its last two axes is contiguous, otherwise a copy."""
    return x if x.itemsize in x.strides[-2:] and x.flags.aligned else np.array(x, order="C")


def matmul_into(
    native: Native, a: Array, b: Array, c: Array, bias: Array | None = None, *, add: bool = False, threads: int
) -> None:
    """Write a[B,M,K] b[B,K,N] to c[B,M,N], or add it; the bias[N] is added to every row.

    One of the last two axes of a and of b is contiguous, and so is the last axis of c. Every element is a sum over k in
    the same order, whatever the size of the batch and the number of threads.
    """
    a_batch, a_row, a_column = strides(a)
    b_batch, b_row, b_column = strides(b)
    c_batch, c_row, _ = strides(c)
    batch, m, k = a.shape
    call = _Call(
        a=address(a),
        a_batch=a_batch,
        a_row=a_row,
        a_column=a_column,
        b=address(b),
        b_batch=b_batch,
        b_row=b_row,
        b_column=b_column,
        c=address(c),
        c_batch=c_batch,
        c_row=c_row,
        bias=None if bias is None else address(bias),
        batch=batch,
        m=m,
        k=k,
        n=c.shape[2],
        add=add,
        threads=threads,
    )
    native.run("matmul", c.dtype, call)
