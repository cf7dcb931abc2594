"""The NumPy function product_kmax, compared with the PyTorch function and with its reference implementation."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.forcing import forced, in_both_precisions, layouts, on_every_width, on_reference_and_native, threads
from pairlight.core.errors import InputError
from pairlight.kernels.autograd import product_kmax as autograd
from pairlight.kernels.native.product_kmax import product_kmax

Array = NDArray[Any]
sizes = st.tuples(*(st.integers(1, most) for most in (3, 3, 4, 11, 40, 20)))  # lefts, times, C, L, R, D


def case(size: tuple[int, ...], seed: int, dtype: Any = np.float32, shared: bool = False) -> tuple[list[Array], Array]:
    """u, v and their lengths, and an offset: small integers, so that sums are exact. Padding is NaN."""
    B, times, C, L, R, D = size
    g = np.random.default_rng(seed)
    left, right = g.integers(0, L + 1, B), g.integers(0, R + 1, B * times)
    u = g.integers(-2, 3, (B, L, C, D)).astype(dtype)
    v = g.integers(-2, 3, (B * times, R, 1 if shared else C, D)).astype(dtype)
    offset = g.integers(-2, 3, (B, L, C)).astype(dtype)
    u[np.arange(L) >= left[:, None]] = np.nan
    v[np.arange(R) >= right[:, None]] = np.nan
    offset[np.arange(L) >= left[:, None]] = np.nan
    return [u, v, left, right], offset


def assert_same(a: tuple[Array, Array], b: tuple[Any, Any]) -> None:
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, np.asarray(y), strict=True)


@in_both_precisions
@on_every_width
@settings(max_examples=30, deadline=None)
@given(sizes, st.integers(0, 10**6), st.sampled_from([1, 3, 20, 500]), *[st.booleans()] * 3)
def test_the_result_equals_those_of_the_pytorch_function_and_of_the_reference(
    width: str, dtype: Any, size: tuple[int, ...], seed: int, k: int, shared: bool, with_offset: bool, relu: bool
) -> None:
    arguments, offset = case(size, seed, dtype, shared)
    given_offset = offset if with_offset else None
    with forced(width):
        kernel = product_kmax(*arguments, k, offset=given_offset, relu=relu)
        tensor = torch.from_numpy(offset) if with_offset else None
        expected = autograd.product_kmax(*map(torch.from_numpy, arguments), k, offset=tensor, relu=relu)
        assert_same(kernel, expected)
    with forced("reference"):
        assert_same(kernel, product_kmax(*arguments, k, offset=given_offset, relu=relu))


@on_every_width
def test_the_kernel_equals_the_reference_on_random_numbers(width: str) -> None:
    g = np.random.default_rng(0)
    u, v, offset = (g.standard_normal(shape) for shape in ((5, 23, 4, 50), (15, 37, 1, 50), (5, 23, 4)))
    left, right = g.integers(1, 24, 5), g.integers(1, 38, 15)
    with forced(width):
        kernel = product_kmax(u, v, left, right, 7, offset=offset, relu=True)
    with forced("reference"):
        reference = product_kmax(u, v, left, right, 7, offset=offset, relu=True)
    np.testing.assert_allclose(kernel[0], reference[0], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(kernel[1], reference[1])


@on_reference_and_native
def test_nan_and_infinity_inside_the_texts_count_as_the_largest(choice: str) -> None:
    u, v = np.ones((1, 2, 1, 2)), np.ones((1, 3, 1, 2))
    u[0, 1, 0, 0], v[0, 2, 0, 0] = np.inf, 0
    with forced(choice):
        values, positions = product_kmax(u, v, np.array([2]), np.array([3]), 4)
    np.testing.assert_array_equal(values, [[[np.inf, np.inf, np.nan, 2]]])
    np.testing.assert_array_equal(positions, [[[3, 4, 5, 0]]])


@in_both_precisions
@on_reference_and_native
def test_the_memory_layout_does_not_change_the_result(choice: str, dtype: Any) -> None:
    arguments, offset = case((2, 3, 4, 5, 9, 6), 1, dtype)
    with forced(choice):
        expected = product_kmax(*arguments, 4, offset=offset)
        for *arrays, by in zip(*map(layouts, [*arguments, offset]), strict=True):
            assert_same(product_kmax(*arrays, 4, offset=by), expected)
        u, v, left, right = arguments
        for shape in [(1, 5, 4, 6), (2, 1, 4, 6), (2, 5, 1, 6), (2, 5, 4, 1)]:
            same = np.broadcast_to(np.nan_to_num(u)[tuple(slice(n) for n in shape)], u.shape)
            by = np.broadcast_to(np.ones((2, 1, 1), dtype), offset.shape)
            expected = product_kmax(same.copy(), v, left, right, 4, offset=by.copy())
            assert_same(product_kmax(same, v, left, right, 4, offset=by), expected)


@on_every_width
def test_the_number_of_threads_does_not_change_the_result(width: str) -> None:
    arguments, offset = case((100, 1, 3, 9, 7, 8), 3)
    with forced(width):
        with threads(1):
            one = product_kmax(*arguments, 5, offset=offset)
        with threads(3):
            assert_same(product_kmax(*arguments, 5, offset=offset), one)


@on_reference_and_native
def test_empty_batches_and_texts_without_words_are_valid(choice: str) -> None:
    (u, v, left, right), _ = case((2, 2, 3, 4, 5, 6), 0)
    with forced(choice):
        assert product_kmax(u[:0], v[:0], left[:0], right[:0], 2)[0].shape == (0, 3, 2)
        values, positions = product_kmax(u, v, 0 * left, right, 2)
    assert not values.any()
    assert (positions == -1).all()


def test_invalid_arguments_raise_an_input_error() -> None:
    u, v, one, two = np.zeros((2, 3, 1, 4)), np.zeros((4, 5, 1, 4)), np.array([1, 1]), np.array([1] * 4)
    with pytest.raises(InputError, match="There are 3 right texts for 2 left texts: pass the same number"):
        product_kmax(u, v[:3], one, two[:3], 1)
    with pytest.raises(InputError, match=r"v has shape \[4, 5, 1, 4\]: pass an array of shape \[4, 5, 1, 6\]"):
        product_kmax(np.zeros((2, 3, 1, 6)), v, one, two, 1)
    with pytest.raises(InputError, match=r"offset has shape \[1\]: pass an array of shape \[2, 3, 1\]"):
        product_kmax(u, v, one, two, 1, offset=np.zeros(1))
    with pytest.raises(InputError, match="offset has dtype float32 and u has dtype float64"):
        product_kmax(u, v, one, two, 1, offset=np.zeros((2, 3, 1), np.float32))
    with pytest.raises(InputError, match="k is 0"):
        product_kmax(u, v, one, two, 0)
