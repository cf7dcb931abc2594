"""The NumPy functions kernel_counts and cosine_counts, compared with the PyTorch functions and the reference."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.forcing import forced, in_both_precisions, layouts, on_every_width, on_reference_and_native, threads
from pairlight.core.errors import InputError
from pairlight.kernels.autograd import kernel_counts as autograd
from pairlight.kernels.native.kernel_counts import cosine_counts, kernel_counts

Array = NDArray[Any]
MU, SIGMA = [1.0, 0.9, 0.3, -0.3, -0.9], [0.001, 0.1, 0.2, 0.1, 0.1]
sizes = st.tuples(*(st.integers(1, most) for most in (5, 4, 6, 40)))  # B, C, L, R


def case(size: tuple[int, ...], seed: int, dtype: Any = np.float64) -> list[Array]:
    """s and b with lengths; a tenth of the similarities are 1. Padding is NaN."""
    B, C, L, R = size
    g = np.random.default_rng(seed)
    left, right = g.integers(0, L + 1, B), g.integers(0, R + 1, B)
    s = np.where(g.random((B, C, L, R)) < 0.1, 1, g.uniform(-1, 1, (B, C, L, R))).astype(dtype)
    b = g.uniform(0.5, 2, (B, R)).astype(dtype)
    s.swapaxes(1, 2)[np.arange(L) >= left[:, None]] = np.nan
    s.transpose(0, 3, 1, 2)[np.arange(R) >= right[:, None]] = np.nan
    b[np.arange(R) >= right[:, None]] = np.nan
    return [s, b, left, right]


def assert_close(a: Array, b: Any, dtype: Any) -> None:
    b = np.asarray(b)
    assert a.dtype == b.dtype == dtype
    tolerance = 1e-5 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=1e-12)


@in_both_precisions
@on_every_width
@settings(max_examples=30, deadline=None)
@given(sizes, st.integers(0, 10**6))
def test_the_result_equals_those_of_the_pytorch_function_and_of_the_reference(
    width: str, dtype: Any, size: tuple[int, ...], seed: int
) -> None:
    arguments = case(size, seed, dtype)
    with forced(width):
        kernel = kernel_counts(*arguments, MU, SIGMA)
        expected = autograd.kernel_counts(*map(torch.from_numpy, arguments), MU, SIGMA)
        np.testing.assert_array_equal(kernel, expected.numpy(), strict=True)
    with forced("reference"):
        assert_close(kernel, kernel_counts(*arguments, MU, SIGMA), dtype)
        assert_close(kernel, autograd.kernel_counts(*map(torch.from_numpy, arguments), MU, SIGMA), dtype)


@in_both_precisions
@on_every_width
def test_cosines_are_counted_like_a_grid_of_them(width: str, dtype: Any) -> None:
    g = np.random.default_rng(0)
    u, v, b = (g.standard_normal(shape).astype(dtype) for shape in ((2, 5, 3, 8), (4, 19, 2, 8), (4, 19)))
    left, right = np.array([5, 3]), np.array([19, 1, 7, 0])
    u[1, 3:], v[1, 1:], u[0, 0, 0] = np.nan, np.nan, 0
    with forced(width):
        counts = cosine_counts(u, v, np.abs(b), left, right, MU, SIGMA)
        tensors = map(torch.from_numpy, (u, v, np.abs(b), left, right))
        np.testing.assert_allclose(
            counts, autograd.cosine_counts(*tensors, MU, SIGMA), rtol=1e-4 if dtype == np.float32 else 1e-10, atol=1e-7
        )
    assert counts.shape == (4, 6, 5, 5)
    x, y = u[1, 2, 1], v[3 - 2, 0, 1]
    s = (x / np.linalg.norm(x)) @ (y / np.linalg.norm(y))
    expected = np.abs(b[1, 0]) * np.exp(-0.5 * np.square((s - np.array(MU)) / SIGMA))
    np.testing.assert_allclose(counts[1, 1 * 2 + 1, 2], expected, rtol=1e-3, atol=1e-6)


@on_reference_and_native
def test_padding_has_no_counts(choice: str) -> None:
    s, b, left, right = case((5, 2, 6, 20), 3)
    with forced(choice):
        counts = kernel_counts(s, b, left, right, MU, SIGMA)
    assert np.isfinite(counts).all()
    assert not counts.swapaxes(1, 2)[np.arange(6) >= left[:, None]].any()


@on_every_width
def test_nan_stays_in_its_row(width: str) -> None:
    s, b = np.zeros((1, 2, 3, 20), np.float32), np.ones((1, 20), np.float32)
    s[0, 0, 1, 4] = np.nan
    with forced(width):
        counts = kernel_counts(s, b, np.array([3]), np.array([19]), MU, SIGMA)
    assert np.isnan(counts[0, 0, 1]).all()
    assert np.isfinite(counts[0, 1]).all()
    assert np.isfinite(counts[0, 0, [0, 2]]).all()


@in_both_precisions
@on_reference_and_native
def test_the_memory_layout_does_not_change_the_result(choice: str, dtype: Any) -> None:
    s, b, left, right = case((3, 2, 5, 9), 1, dtype)
    with forced(choice):
        expected = kernel_counts(s, b, left, right, MU, SIGMA)
        for arrays in zip(*map(layouts, (s, b, left, right)), strict=True):
            np.testing.assert_allclose(kernel_counts(*arrays, MU, SIGMA), expected, rtol=1e-6)


@on_every_width
def test_the_number_of_threads_does_not_change_the_result(width: str) -> None:
    arguments = case((50, 3, 9, 17), 3, np.float32)
    with forced(width):
        with threads(1):
            one = kernel_counts(*arguments, MU, SIGMA)
        with threads(3):
            np.testing.assert_array_equal(kernel_counts(*arguments, MU, SIGMA), one)


@on_reference_and_native
def test_an_empty_batch_has_an_empty_result(choice: str) -> None:
    s, b, left, right = (x[:0] for x in case((2, 3, 4, 5), 0))
    with forced(choice):
        assert kernel_counts(s, b, left, right, MU, SIGMA).shape == (0, 3, 4, 5)
        u = np.zeros((0, 4, 3, 2))
        assert cosine_counts(u, u, np.zeros((0, 4)), left, right, MU, SIGMA).shape == (0, 9, 4, 5)


def test_invalid_arguments_raise_an_input_error() -> None:
    s, b, left, right = case((2, 1, 3, 4), 0)
    u, v = np.zeros((2, 3, 1, 4)), np.zeros((3, 5, 1, 4))
    with pytest.raises(InputError, match=r"b has shape \[2, 3\]: pass an array of shape \[2, 4\]"):
        kernel_counts(s, b[:, 1:], left, right, MU, SIGMA)
    with pytest.raises(InputError, match="There are 5 μ and 4 σ: pass one of each"):
        kernel_counts(s, b, left, right, MU, SIGMA[1:])
    with pytest.raises(InputError, match=r"σ is 0\.0: pass widths above 0"):
        kernel_counts(s, b, left, right, [1.0], [0.0])
    with pytest.raises(InputError, match="There are 3 right texts for 2 left texts"):
        cosine_counts(u, v, np.zeros((3, 5)), left, np.array([1, 1, 1]), MU, SIGMA)
    with pytest.raises(InputError, match=r"v has shape \[2, 5, 1, 4\]: pass an array of shape \[2, 5, 1, 6\]"):
        cosine_counts(np.zeros((2, 3, 1, 6)), v[:2], np.zeros((2, 5)), left, right, MU, SIGMA)
