"""Convolution over grids, as products of their windows with the weights, on NumPy arrays."""

import numpy as np

from pairlight.kernels.native.buffers import Array
from pairlight.kernels.native.matmul import batched_product_into

_CACHED = 2**18  # numbers of windows that are computed together, so that they stay in the cache


def conv2d(x: Array, weight: Array, bias: Array | None, padding: int = 0) -> Array:
    """x[B,C,H,W], weight[maps,C,rows,columns] -> [B,maps,L,R], with so many zeros around x."""
    if padding:
        x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    maps, _, rows, columns = weight.shape
    windows = np.lib.stride_tricks.sliding_window_view(x, (rows, columns), (2, 3))  # [B, C, L, R, rows, columns]
    windows = windows.transpose(0, 1, 4, 5, 2, 3)
    B, L, R = len(x), *windows.shape[4:]
    flat = weight.reshape(maps, -1)
    y = np.empty((B, maps, L * R), x.dtype)
    # Some pairs at a time, whose windows stay in the cache; whole rows of them are copied.
    step = max(1, _CACHED // (flat.shape[1] * L * R))
    for at in range(0, B, step):
        some = windows[at : at + step]
        batched_product_into(y[at : at + step], flat, some.reshape(len(some), flat.shape[1], L * R))
    if bias is not None:
        y += bias[:, None]
    return y.reshape(B, maps, L, R)
