"""Products of a batch of matrices, on NumPy arrays: c = a b + bias, or c += a b."""

import ctypes

from pairlight.kernels.native.buffers import Array, address, numbers, pointers, strides
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
