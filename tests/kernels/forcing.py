"""Helpers to run a test on every SIMD width, and to compare a kernel with its reference implementation."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from pairlight.kernels.native.library import available, set_threads

WIDTHS = [
    pytest.param(width, marks=pytest.mark.skipif(width not in available(), reason=f"no {width} kernels here"))
    for width in ("portable", "avx2", "avx512")
]
on_every_width = pytest.mark.parametrize("width", WIDTHS)
on_reference_and_native = pytest.mark.parametrize("choice", ["reference", WIDTHS[0]])
in_both_precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@contextmanager
def forced(choice: str) -> Iterator[None]:
    """Set PAIRLIGHT_KERNELS."""
    before = os.environ.get("PAIRLIGHT_KERNELS")
    os.environ["PAIRLIGHT_KERNELS"] = choice
    try:
        yield
    finally:
        del os.environ["PAIRLIGHT_KERNELS"]
        if before is not None:
            os.environ["PAIRLIGHT_KERNELS"] = before


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Set the number of threads of the PyTorch and of the NumPy functions."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    set_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        set_threads(None)


def result_and_gradients(f: Callable[..., Tensor], inputs: Sequence[Tensor], seed: int = 0) -> list[Tensor]:
    """f(*inputs), then the gradients of its sum with random weights."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    y = f(*leaves)
    weight = torch.randn(y.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(y.dtype)
    return [y.detach(), *torch.autograd.grad((y * weight).sum(), leaves)]


def assert_agrees(width: str, f: Callable[..., Tensor], inputs: Sequence[Tensor]) -> None:
    """In float32, the results of kernel and reference differ by at most 1e-6 of the largest number.

    Gradients are sums of thousands of numbers, where the reference itself has rounding errors: there the error of the
    kernel, relative to float64, must be at most 5e-6 or a small multiple of the error of the reference.
    """
    single = [x.float() for x in inputs]
    with forced(width):
        kernel = result_and_gradients(f, single)
    with forced("reference"):
        reference = result_and_gradients(f, single)
        exact = result_and_gradients(f, [x.double() for x in single])
    assert _distance(kernel[0], reference[0]) <= 1e-6 * _scale(exact[0])
    scale = max(map(_scale, exact[1:]))
    for a, b, truth in zip(kernel[1:], reference[1:], exact[1:], strict=True):
        assert _distance(a, truth) <= max(5e-6 * scale, 4 * _distance(b, truth))


def _distance(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).abs().max()) if a.numel() else 0.0


def _scale(x: Tensor) -> float:
    """The largest number, but at least 0.1: a small result may be the difference of larger terms."""
    return max(0.1, float(x.abs().max())) if x.numel() else 0.1


def same_bits(a: Sequence[Tensor], b: Sequence[Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def layouts(x: NDArray[Any]) -> list[NDArray[Any]]:
    """The same numbers in other memory layouts."""
    spaced = np.zeros((*x.shape, 2), x.dtype)
    spaced[..., 0] = x
    packed = np.zeros(x.shape, np.dtype([("pad", "i1"), ("x", x.dtype)]))
    packed["x"] = x
    read_only = x.copy()
    read_only.flags.writeable = False
    flipped = np.ascontiguousarray(x[(slice(None, None, -1),) * x.ndim])[(slice(None, None, -1),) * x.ndim]
    return [np.asfortranarray(x), spaced[..., 0], packed["x"], read_only, flipped]
