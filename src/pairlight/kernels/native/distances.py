"""The distances of all vectors of left texts from all vectors of right texts, on NumPy arrays."""

import ctypes

import numpy as np

from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import Array, address, contiguous, numbers, pointers


class _Call(ctypes.Structure):
    """The same fields in the same order as `Distances` in csrc/distances.hpp."""

    _fields_ = (*pointers("u", "v"), *numbers("pairs", "m", "n", "dim", "threads"), *pointers("y"))


def distances(u: Array, v: Array) -> Array:
    """u[B,L,D], v[B,R,D] -> |u_i - v_j|[B,L,R], from differences, so that equal vectors have distance 0 exactly."""
    check.dimensions("u", u, "BLD")
    B, L, D = u.shape
    check.shape("v", v, B, v.shape[1], D)
    check.floating(u=u, v=v)
    native = library.native(u.dtype)
    y = np.empty((B, L, v.shape[1]), u.dtype)
    if native is None or not y.size:
        return distances_reference(u, v)
    u, v = contiguous(u), contiguous(v)
    call = _Call(u=address(u), v=address(v), pairs=B, m=L, n=v.shape[1], dim=D, threads=library.threads(), y=address(y))
    native.run("distances", u.dtype, call)
    return np.sqrt(y, out=y)


def distances_reference(u: Array, v: Array) -> Array:
    """The reference implementation."""
    y: Array = np.sqrt(np.square(u[..., :, None, :] - v[..., None, :, :]).sum(-1))
    return y
