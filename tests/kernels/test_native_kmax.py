"""The NumPy function kmax, compared with the PyTorch function and with its reference implementation."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.forcing import forced, in_both_precisions, layouts, on_every_width, on_reference_and_native, threads
from pairlight.core.errors import InputError
from pairlight.kernels.autograd import kmax as autograd
from pairlight.kernels.native.kmax import kmax

Array = NDArray[Any]
sizes = st.tuples(*(st.integers(1, most) for most in (5, 3, 7, 40)))
seeds, ks = st.integers(0, 10**6), st.sampled_from([1, 2, 5, 17, 300])


def grid(size: tuple[int, ...], seed: int, dtype: Any = np.float32) -> tuple[Array, Array, Array]:
    """Few distinct values, so that there are many ties; infinities and NaN are among them."""
    B, C, L, R = size
    g = np.random.default_rng(seed)
    values = np.array([-np.inf, -2, -1, 0, 0.5, 1, 2, 3, np.inf, np.nan], dtype)
    s = values[g.integers(0, 10, (B, L, C, R))].transpose(0, 2, 1, 3)
    return s, g.integers(0, L + 1, B), g.integers(0, R + 1, B)


def assert_same(a: tuple[Array, Array], b: tuple[Any, Any]) -> None:
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, np.asarray(y), strict=True)


@in_both_precisions
@on_every_width
@settings(max_examples=30, deadline=None)
@given(sizes, seeds, ks)
def test_the_result_equals_those_of_the_pytorch_function_and_of_the_reference(
    width: str, dtype: Any, size: tuple[int, ...], seed: int, k: int
) -> None:
    arguments = grid(size, seed, dtype)
    with forced(width):
        kernel = kmax(*arguments, k)
        assert_same(kernel, autograd.kmax(*map(torch.from_numpy, arguments), k))
    with forced("reference"):
        assert_same(kernel, kmax(*arguments, k))


@on_reference_and_native
def test_ties_are_ordered_by_position_and_nan_counts_as_infinity(choice: str) -> None:
    s = np.array([[[[1, np.nan, 9], [-np.inf, np.inf, 9], [1, 0, 9]]]])
    with forced(choice):
        values, positions = kmax(s, np.array([3]), np.array([2]), 8)
    np.testing.assert_array_equal(values, [[[np.nan, np.inf, 1, 1, 0, -np.inf, 0, 0]]])
    np.testing.assert_array_equal(positions, [[[1, 4, 0, 6, 7, 3, -1, -1]]])


@in_both_precisions
@on_reference_and_native
def test_the_memory_layout_does_not_change_the_result(choice: str, dtype: Any) -> None:
    s, left, right = grid((4, 3, 5, 20), 1, dtype)
    with forced(choice):
        expected = kmax(s, left, right, 7)
        for arrays in zip(layouts(s), layouts(left), layouts(right), strict=True):
            assert_same(kmax(*arrays, 7), expected)
        for shape in [(1, 3, 5, 20), (4, 1, 5, 20), (4, 3, 1, 20), (4, 3, 5, 1)]:
            same = np.broadcast_to(s[tuple(slice(n) for n in shape)], s.shape)
            assert_same(kmax(same, left, right, 7), kmax(same.copy(), left, right, 7))


@on_every_width
def test_the_number_of_threads_does_not_change_the_result(width: str) -> None:
    s, left, right = grid((200, 3, 7, 9), 2)
    with forced(width):
        with threads(1):
            one = kmax(s, left, right, 5)
        with threads(3):
            assert_same(kmax(s, left, right, 5), one)


@on_reference_and_native
def test_grids_without_cells_have_values_of_0_and_positions_of_minus_1(choice: str) -> None:
    s, left, right = grid((2, 1, 4, 3), 0)
    with forced(choice):
        for empty in (kmax(s, 0 * left, right, 2), kmax(s, left, 0 * right, 2), kmax(s[:, :, :0], 0 * left, right, 2)):
            assert_same(empty, (np.zeros((2, 1, 2), np.float32), np.full((2, 1, 2), -1)))
        assert kmax(s[:0], left[:0], right[:0], 2)[0].shape == (0, 1, 2)


def test_invalid_arguments_raise_an_input_error() -> None:
    s, one = np.zeros((1, 1, 2, 2)), np.array([1])
    with pytest.raises(InputError, match="k is 0: pass 1 or more"):
        kmax(s, one, one, 0)
    with pytest.raises(InputError, match="left_lengths has values from 3 to 3: pass lengths from 0 to 2"):
        kmax(s, one + 2, one, 1)
    with pytest.raises(InputError, match=r"right_lengths has shape \[2\]: pass an array of shape \[1\]"):
        kmax(s, one, np.array([1, 1]), 1)
    with pytest.raises(InputError, match="s has dtype int64: pass floating-point numbers"):
        kmax(s.astype(np.int64), one, one, 1)
    with pytest.raises(InputError, match=r"s has 3 dimensions: pass an array of 4, \[B, C, L, R\]"):
        kmax(s[0], one, one, 1)
