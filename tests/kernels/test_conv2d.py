"""conv2d on NumPy arrays and, with gradients, on PyTorch tensors, compared with PyTorch and with the reference."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.forcing import (
    forced,
    in_both_precisions,
    layouts,
    on_every_width,
    on_reference_and_native,
    same_bits,
    threads,
)
from pairlight.core.errors import InputError
from pairlight.kernels.autograd import conv2d as autograd
from pairlight.kernels.native.conv2d import conv2d

Array = NDArray[Any]
sizes = st.tuples(*(st.integers(1, most) for most in (3, 5, 40, 70, 18)))  # B, C, H, W, maps
windows = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(0, 4))  # rows, columns, padding


def case(size: tuple[int, ...], window: tuple[int, ...], dtype: Any, seed: int = 0) -> tuple[Array, Array, Array]:
    B, C, H, W, maps = size
    g = np.random.default_rng(seed)
    shapes = (B, C, H, W), (maps, C, *window[:2]), (maps,)
    x, weight, bias = (g.normal(size=shape).astype(dtype) for shape in shapes)
    return x, weight, bias


@in_both_precisions
@on_every_width
@settings(max_examples=30, deadline=None)
@given(sizes, windows, st.integers(0, 10**6), st.booleans())
def test_the_result_equals_those_of_pytorch_and_of_the_reference(
    width: str, dtype: Any, size: tuple[int, ...], window: tuple[int, ...], seed: int, biased: bool
) -> None:
    x, weight, bias = case(size, window, dtype, seed)
    padding = window[2]
    if x.shape[2] + 2 * padding < window[0] or x.shape[3] + 2 * padding < window[1]:
        return
    given_bias = bias if biased else None
    tolerance = {"rtol": 0, "atol": 1e-4 if dtype == np.float32 else 1e-12}
    with forced(width):
        found = conv2d(x, weight, given_bias, padding)
    tensors = (None if each is None else torch.from_numpy(each) for each in (x, weight, given_bias))
    np.testing.assert_allclose(found, F.conv2d(*tensors, padding=padding).numpy(), **tolerance)
    with forced("reference"):
        np.testing.assert_allclose(found, conv2d(x, weight, given_bias, padding), **tolerance)


@on_every_width
def test_a_grid_gives_the_same_bits_alone_in_a_batch_and_on_several_threads(width: str) -> None:
    x, weight, bias = case((7, 3, 12, 19, 9), (3, 3), np.float32)
    with forced(width), threads(1):
        together = conv2d(x, weight, bias, 1)
        for number in range(len(x)):
            np.testing.assert_array_equal(conv2d(x[number : number + 1], weight, bias, 1)[0], together[number])
    with forced(width), threads(2):
        np.testing.assert_array_equal(conv2d(x, weight, bias, 1), together)


@on_every_width
def test_a_nan_affects_only_the_windows_that_contain_it(width: str) -> None:
    x, weight, bias = case((2, 2, 9, 21, 5), (3, 2), np.float32)
    with forced(width):
        clean = conv2d(x, weight, bias)
        x[0, 1, 4, 7] = np.nan
        found = conv2d(x, weight, bias)
    inside = np.zeros(found.shape, bool)
    inside[0, :, 2:5, 6:8] = True
    assert np.isnan(found[inside]).all()
    np.testing.assert_array_equal(found[~inside], clean[~inside])


@on_reference_and_native
def test_the_memory_layout_does_not_change_the_result(choice: str) -> None:
    x, weight, bias = case((2, 3, 6, 7, 4), (2, 3), np.float32)
    with forced(choice):
        expected = conv2d(x, weight, bias)
        for a, b, c in zip(*map(layouts, (x, weight, bias)), strict=True):
            np.testing.assert_allclose(conv2d(a, b, c), expected, rtol=0, atol=1e-6)


@on_reference_and_native
def test_a_grid_smaller_than_a_window_has_no_result(choice: str) -> None:
    x, weight, bias = case((2, 3, 2, 9, 4), (3, 3), np.float32)
    with forced(choice):
        assert conv2d(x, weight, bias).shape == (2, 4, 0, 7)
        assert conv2d(x[:0], weight, bias, 2).shape == (0, 4, 4, 11)


@on_reference_and_native
def test_wrong_shapes_and_types_are_named(choice: str) -> None:
    x, weight, bias = case((2, 3, 5, 9, 4), (3, 3), np.float32)
    with forced(choice):
        with pytest.raises(InputError, match=r"x has shape \[2, 2, 5, 9\]: pass an array of shape \[2, 3, 5, 9\]"):
            conv2d(x[:, :2], weight, bias)
        with pytest.raises(InputError, match="weight has dtype float64 and x has dtype float32"):
            conv2d(x, weight.astype(np.float64), bias)


def sparse_gradients(
    size: tuple[int, ...], window: tuple[int, ...], dtype: Any, share: float, seed: int
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The gradients of x, weight and bias where this share of the cells of the result has one; those of PyTorch."""
    inputs = [torch.from_numpy(each).requires_grad_() for each in case(size, window, dtype, seed)]
    found, expected = (f(*inputs, padding=window[2]) for f in (autograd.conv2d, F.conv2d))
    g = torch.Generator().manual_seed(seed)
    d = torch.randn(found.shape, generator=g, dtype=found.dtype) * (torch.rand(found.shape, generator=g) < share)
    return [list(torch.autograd.grad(y, inputs, d)) for y in (found, expected)]  # type: ignore[return-value]


@in_both_precisions
@on_every_width
@settings(max_examples=30, deadline=None)
@given(sizes, windows, st.integers(0, 10**6), st.sampled_from([0, 0.05, 0.5]))
def test_gradients_equal_those_of_pytorch(
    width: str, dtype: Any, size: tuple[int, ...], window: tuple[int, ...], seed: int, share: float
) -> None:
    if size[2] + 2 * window[2] < window[0] or size[3] + 2 * window[2] < window[1]:
        return
    with forced(width):
        found, expected = sparse_gradients(size, window, dtype, share, seed)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-3 if dtype == np.float32 else 1e-11)


@on_every_width
def test_sparse_gradients_are_those_of_the_kernel_with_equal_bits_on_several_threads(
    width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    kernel = autograd.conv2d_backward_into
    monkeypatch.setattr(autograd, "conv2d_backward_into", lambda *a, **b: (calls.append(1), kernel(*a, **b)))
    found = []
    with forced(width):
        for n in (1, 2):
            with threads(n):
                found.append(sparse_gradients((19, 3, 12, 19, 9), (3, 3, 1), np.float32, 0.05, 0)[0])
        sparse_gradients((19, 3, 12, 19, 9), (3, 3, 1), np.float32, 0.5, 0)
    assert len(calls) == 2
    assert same_bits(*found)


def test_frozen_inputs_get_no_gradient() -> None:
    x, weight, bias = (torch.from_numpy(each) for each in case((2, 3, 5, 9, 4), (3, 3), np.float32))
    y = autograd.conv2d(x, weight.requires_grad_(), bias)
    y[0, 0, 0, 0].backward()
    assert x.grad is None
    assert bias.grad is None
    assert weight.grad is not None
    torch.testing.assert_close(weight.grad[0], x[0, :, :3, :3])
    assert not weight.grad[1:].any()
