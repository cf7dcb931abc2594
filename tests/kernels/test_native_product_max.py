"""The NumPy function product_max, compared with the PyTorch function and with its reference implementation."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.forcing import forced, in_both_precisions, layouts, on_every_width, on_reference_and_native, threads
from pairlight.core.errors import InputError
from pairlight.kernels.autograd import product_max as autograd
from pairlight.kernels.native.product_kmax import product_kmax
from pairlight.kernels.native.product_max import ProductMax, product_max

Array = NDArray[Any]
sizes = st.tuples(*(st.integers(1, most) for most in (3, 20, 40, 40, 20)))  # lefts, times, L, R, D


def case(size: tuple[int, ...], seed: int, dtype: Any = np.float32) -> list[Array]:
    """u, v and their lengths: small integers, so that sums are exact and there are many ties. Padding is NaN."""
    B, times, L, R, D = size
    g = np.random.default_rng(seed)
    left, right = g.integers(0, L + 1, B), g.integers(0, R + 1, B * times)
    u = g.integers(-2, 3, (B, L, D)).astype(dtype)
    v = g.integers(-2, 3, (B * times, R, D)).astype(dtype)
    u[np.arange(L) >= left[:, None]] = np.nan
    v[np.arange(R) >= right[:, None]] = np.nan
    return [u, v, left, right]


def assert_same(a: ProductMax, b: Any) -> None:
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, np.asarray(y), strict=True)


@in_both_precisions
@on_every_width
@settings(max_examples=30, deadline=None)
@given(sizes, st.integers(0, 10**6), st.sampled_from([0, 1, 3, 10, 30, 500, 2000]))
def test_the_result_equals_those_of_the_pytorch_function_and_of_the_reference(
    width: str, dtype: Any, size: tuple[int, ...], seed: int, k: int
) -> None:
    arguments = case(size, seed, dtype)
    with forced(width):
        kernel = product_max(*arguments, k)
        assert_same(kernel, autograd.product_max(*map(torch.from_numpy, arguments), k))
    with forced("reference"):
        assert_same(kernel, product_max(*arguments, k))


@in_both_precisions
@on_every_width
@pytest.mark.parametrize("most", [1, 17, 80, 200])
def test_texts_of_up_to_200_words_have_the_largest_cells_of_the_grid(width: str, dtype: Any, most: int) -> None:
    g = np.random.default_rng(most)
    u, v = (g.standard_normal((n, most, 37)).astype(dtype) for n in (4, 8))
    left, right = g.integers(1, most + 1, 4), g.integers(1, most + 1, 8)
    left[0] = right[0] = most
    u[np.arange(most) >= left[:, None]], v[np.arange(most) >= right[:, None]] = 1e3, 1e3
    with forced(width):
        found = product_max(u, v, left, right, 7)
    for pair in range(8):
        m, n = left[pair % 4], right[pair]
        s = u[pair % 4, :m].astype(np.float64) @ v[pair, :n].T.astype(np.float64)
        close = {"rtol": 0, "atol": 2e-5 if dtype == np.float32 else 1e-12}
        np.testing.assert_allclose(found.rows[pair, :m], s.max(1), **close)
        np.testing.assert_allclose(found.columns[pair, :n], s.max(0), **close)
        np.testing.assert_array_equal(found.row_positions[pair, :m], s.argmax(1))
        np.testing.assert_array_equal(found.column_positions[pair, :n], s.argmax(0))
        best = np.sort(s.ravel())[::-1][:7]
        np.testing.assert_allclose(found.values[pair, : len(best)], best, **close)
        for values, positions, end in (
            (found.rows, found.row_positions, m),
            (found.columns, found.column_positions, n),
        ):
            assert not values[pair, end:].any()
            assert (positions[pair, end:] == -1).all()


@on_every_width
def test_the_k_largest_cells_are_those_of_product_kmax(width: str) -> None:
    u, v, left, right = case((4, 3, 30, 40, 9), 5)
    with forced(width):
        for k in (1, 10, 35, 50):
            values, positions = product_kmax(u[:, :, None], v[:, :, None], left, right, k)
            found = product_max(u, v, left, right, k)
            np.testing.assert_array_equal(found.values, values[:, 0])
            np.testing.assert_array_equal(found.positions, positions[:, 0])


@on_reference_and_native
def test_nan_counts_as_infinity_and_the_first_of_equal_cells_is_found(choice: str) -> None:
    u, v = np.array([[[1.0], [-np.inf], [2.0]]]), np.array([[[1.0], [np.nan], [np.inf], [1.0]]])
    with forced(choice):
        found = product_max(u, v, np.array([3]), np.array([4]), 5)
        finite = product_max(u, v[:, ::3], np.array([3]), np.array([2]), 7)
    np.testing.assert_array_equal(found.rows, [[np.nan] * 3])
    np.testing.assert_array_equal(found.row_positions, [[1, 1, 1]])
    np.testing.assert_array_equal(found.columns, [[2, np.nan, np.inf, 2]])
    np.testing.assert_array_equal(found.column_positions, [[2, 0, 0, 2]])
    np.testing.assert_array_equal(found.values, [[np.nan, np.inf, np.nan, np.nan, np.inf]])
    np.testing.assert_array_equal(found.positions, [[1, 2, 5, 9, 10]])
    np.testing.assert_array_equal(finite.rows, [[1, -np.inf, 2]])
    np.testing.assert_array_equal(finite.row_positions, [[0, 0, 0]])
    np.testing.assert_array_equal(finite.values, [[2, 2, 1, 1, -np.inf, -np.inf, 0]])
    np.testing.assert_array_equal(finite.positions, [[4, 5, 0, 1, 2, 3, -1]])


@on_every_width
@settings(max_examples=30, deadline=None)
@given(st.tuples(*(st.integers(1, 40) for _ in range(2))), st.integers(0, 10**6), st.sampled_from([1, 5, 40]))
def test_nan_and_infinities_are_found_as_by_the_reference(width: str, size: tuple[int, int], seed: int, k: int) -> None:
    g = np.random.default_rng(seed)
    values = np.array([-np.inf, -1, 0, 0, 1, 1, 2, np.inf, np.nan], np.float32)
    u, v = (values[g.integers(0, len(values), (1, n, 1))] for n in size)
    arguments = [u, v, *(np.array([n]) for n in size)]
    with forced(width):
        kernel = product_max(*arguments, k)
    with forced("reference"):
        assert_same(kernel, product_max(*arguments, k))


@in_both_precisions
@on_reference_and_native
def test_the_memory_layout_does_not_change_the_result(choice: str, dtype: Any) -> None:
    arguments = case((2, 3, 5, 9, 6), 1, dtype)
    with forced(choice):
        expected = product_max(*arguments, 4)
        for arrays in zip(*map(layouts, arguments), strict=True):
            assert_same(product_max(*arrays, 4), expected)
        u, v, left, right = arguments
        for shape in [(1, 5, 6), (2, 1, 6), (2, 5, 1)]:
            same = np.broadcast_to(np.nan_to_num(u)[tuple(slice(n) for n in shape)], u.shape)
            assert_same(product_max(same, v, left, right, 4), product_max(same.copy(), v, left, right, 4))


@on_every_width
@pytest.mark.parametrize("lefts", [1, 4, 100])
def test_the_number_of_threads_does_not_change_the_result(width: str, lefts: int) -> None:
    arguments = case((lefts, 100 // lefts, 9, 7, 8), 3)
    with forced(width):
        with threads(1):
            one = product_max(*arguments, 5)
        with threads(3):
            assert_same(product_max(*arguments, 5), one)


@on_every_width
def test_the_result_of_a_pair_does_not_depend_on_its_batch(width: str) -> None:
    g = np.random.default_rng(0)
    u, v = (g.standard_normal((n, words, 50)).astype(np.float32) for n, words in ((3, 23), (60, 37)))
    left, right = g.integers(1, 24, 3), g.integers(1, 38, 60)
    with forced(width):
        batch = product_max(u, v, left, right, 7)
        for pair in range(60):
            at, m, n = pair % 3, left[pair % 3], right[pair]
            one = product_max(u[at : at + 1, :m], v[pair : pair + 1, :n], left[at : at + 1], right[pair : pair + 1], 7)
            np.testing.assert_array_equal(batch.rows[pair, :m], one.rows[0])
            np.testing.assert_array_equal(batch.columns[pair, :n], one.columns[0])
            np.testing.assert_array_equal(batch.values[pair], one.values[0])


@on_reference_and_native
def test_empty_batches_and_texts_without_words_are_valid(choice: str) -> None:
    u, v, left, right = case((2, 2, 4, 5, 6), 0)
    with forced(choice):
        assert [x.shape for x in product_max(u[:0], v[:0], left[:0], right[:0], 2)] == [
            (0, n) for n in (4, 4, 5, 5, 2, 2)
        ]
        for empty in (
            product_max(u, v, 0 * left, right, 2),
            product_max(u, v, left, 0 * right, 2),
            product_max(u[:, :0], v, 0 * left, right, 2),
            product_max(u, v[:, :0], left, 0 * right, 2),
        ):
            assert not any(values.any() for values in empty[::2])
            assert all((positions == -1).all() for positions in empty[1::2])


def test_invalid_arguments_raise_an_input_error() -> None:
    u, v, one, two = np.zeros((2, 3, 4)), np.zeros((4, 5, 4)), np.array([1, 1]), np.array([1] * 4)
    with pytest.raises(InputError, match="There are 3 right texts for 2 left texts: pass the same number"):
        product_max(u, v[:3], one, two[:3], 1)
    with pytest.raises(InputError, match=r"v has shape \[4, 5, 4\]: pass an array of shape \[4, 5, 6\]"):
        product_max(np.zeros((2, 3, 6)), v, one, two, 1)
    with pytest.raises(InputError, match=r"u has 2 dimensions: pass an array of 3, \[B, L, D\]"):
        product_max(u[0], v, one, two, 1)
    with pytest.raises(InputError, match="v has dtype float32 and u has dtype float64"):
        product_max(u, v.astype(np.float32), one, two, 1)
    with pytest.raises(InputError, match="k is -1: pass 0 or more"):
        product_max(u, v, one, two, -1)
