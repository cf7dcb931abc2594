"""Convolution over grids, on NumPy arrays."""

import ctypes

import numpy as np

from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import Array, address, contiguous, numbers, pointers
from pairlight.kernels.native.library import Native


class _Call(ctypes.Structure):
    """The same fields in the same order as `Conv2d` in csrc/conv2d.hpp."""

    _fields_ = (
        *pointers("x", "weight", "bias"),
        *numbers("batch", "channels", "height", "width", "maps", "rows", "columns", "padding", "threads"),
        *pointers("y"),
    )


class _BackwardCall(ctypes.Structure):
    """The same fields in the same order as `Conv2dBackward` in csrc/conv2d_backward.hpp."""

    _fields_ = (
        *pointers("x", "weight", "d_y"),
        *numbers("batch", "channels", "height", "width", "maps", "rows", "columns", "padding", "threads"),
        *pointers("d_x", "d_weight"),
    )


def conv2d(x: Array, weight: Array, bias: Array | None, padding: int = 0) -> Array:
    """x[B,C,H,W], weight[maps,C,rows,columns] -> [B,maps,L,R], with so many zeros around x."""
    check.floating(x=x, weight=weight)
    check.dimensions("x", x, "BCHW")
    maps, channels, rows, columns = weight.shape
    B, _, H, W = x.shape
    check.shape("x", x, B, channels, H, W)
    L, R = H + 2 * padding - rows + 1, W + 2 * padding - columns + 1
    y = np.empty((B, maps, max(L, 0), max(R, 0)), x.dtype)
    native = library.native(x.dtype)
    if native is None or not y.size:
        return conv2d_reference(x, weight, bias, padding) if y.size else y
    x, weight, bias = contiguous(x), contiguous(weight), None if bias is None else contiguous(bias)
    call = _Call(
        x=address(x),
        weight=address(weight),
        bias=None if bias is None else address(bias),
        batch=B,
        channels=channels,
        height=H,
        width=W,
        maps=maps,
        rows=rows,
        columns=columns,
        padding=padding,
        threads=library.threads(),
        y=address(y),
    )
    native.run("conv2d", x.dtype, call)
    return y


def conv2d_backward_into(
    native: Native,
    x: Array,
    weight: Array,
    d_y: Array,
    d_x: Array | None,
    d_weight: Array,
    padding: int,
    *,
    threads: int,
) -> None:
    """Write the gradients of x and of the weights, in time proportional to the numbers of d_y that are not zero.

    All arrays are contiguous, and d_y is not empty.
    """
    B, C, H, W = x.shape
    maps, _, rows, columns = weight.shape
    call = _BackwardCall(
        x=address(x),
        weight=address(weight),
        d_y=address(d_y),
        batch=B,
        channels=C,
        height=H,
        width=W,
        maps=maps,
        rows=rows,
        columns=columns,
        padding=padding,
        threads=threads,
        d_x=None if d_x is None else address(d_x),
        d_weight=address(d_weight),
    )
    native.run("conv2d_backward", x.dtype, call)


def conv2d_reference(x: Array, weight: Array, bias: Array | None, padding: int = 0) -> Array:
    """The reference implementation: the product of all windows with the weights."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], (2, 3))  # [B,C,L,R,rows,columns]
    y: Array = np.einsum("bclrij,mcij->bmlr", windows, weight, optimize=True)
    return y if bias is None else y + bias[:, None, None]
