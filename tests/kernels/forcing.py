"""Run the same test on every width of the kernels, and compare a kernel with its twin."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

from pairlight.kernels.native.library import available

WIDTHS = [
    pytest.param(width, marks=pytest.mark.skipif(width not in available(), reason=f"no {width} kernels here"))
    for width in ("portable", "avx2", "avx512")
]
on_every_width = pytest.mark.parametrize("width", WIDTHS)
on_twin_and_kernel = pytest.mark.parametrize("choice", ["torch", WIDTHS[0]])


@contextmanager
def forced(choice: str) -> Iterator[None]:
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
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def result_and_gradients(f: Callable[..., Tensor], inputs: Sequence[Tensor], seed: int = 0) -> list[Tensor]:
    """f(*inputs), then the gradients of a random weighting of it."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    y = f(*leaves)
    weight = torch.randn(y.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(y.dtype)
    return [y.detach(), *torch.autograd.grad((y * weight).sum(), leaves)]


def assert_agrees(width: str, f: Callable[..., Tensor], inputs: Sequence[Tensor]) -> None:
    """In float32 kernel and twin give the same to 1e-6 of the largest number.

    Gradients are sums of thousands of numbers, where the twin itself strays: there the kernel must be within 5e-6 of
    float64, or about as near to it as the twin is.
    """
    single = [x.float() for x in inputs]
    with forced(width):
        kernel = result_and_gradients(f, single)
    with forced("torch"):
        twin = result_and_gradients(f, single)
        exact = result_and_gradients(f, [x.double() for x in single])
    assert _distance(kernel[0], twin[0]) <= 1e-6 * _scale(exact[0])
    scale = max(map(_scale, exact[1:]))
    for a, b, truth in zip(kernel[1:], twin[1:], exact[1:], strict=True):
        assert _distance(a, truth) <= max(5e-6 * scale, 4 * _distance(b, truth))


def _distance(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).abs().max()) if a.numel() else 0.0


def _scale(x: Tensor) -> float:
    """The largest number, or 0.1: a small result may be what is left of larger terms that cancel."""
    return max(0.1, float(x.abs().max())) if x.numel() else 0.1


def same_bits(a: Sequence[Tensor], b: Sequence[Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))
