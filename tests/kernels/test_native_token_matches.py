"""The NumPy function token_matches, compared with the PyTorch function and with its reference implementation."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.forcing import forced, layouts, on_every_width, on_reference_and_native, threads
from pairlight.core.errors import InputError
from pairlight.kernels.autograd import token_matches as autograd
from pairlight.kernels.native.token_matches import token_matches

Array = NDArray[Any]
sizes = st.tuples(*(st.integers(1, most) for most in (3, 4, 40, 200)))  # lefts, times, L, R


def case(size: tuple[int, ...], seed: int, dtype: Any = np.int64) -> list[Array]:
    """Few distinct ids, some of them large or negative."""
    B, times, L, R = size
    g = np.random.default_rng(seed)
    ids = np.array([0, 1, 2, 3, -1, 2**31 - 1, -(2**31)], dtype)
    left, right = g.integers(0, L + 1, B), g.integers(0, R + 1, B * times)
    return [ids[g.integers(0, 7, (B, L))], ids[g.integers(0, 7, (B * times, R))], left, right]


def assert_same(a: tuple[Array, Array], b: Any) -> None:
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, np.asarray(y), strict=True)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@on_every_width
@settings(max_examples=30, deadline=None)
@given(sizes, st.integers(0, 10**6))
def test_the_result_equals_those_of_the_pytorch_function_and_of_the_reference(
    width: str, dtype: Any, size: tuple[int, ...], seed: int
) -> None:
    arguments = case(size, seed, dtype)
    with forced(width):
        kernel = token_matches(*arguments)
        assert_same(kernel, autograd.token_matches(*map(torch.from_numpy, arguments)))
    with forced("reference"):
        assert_same(kernel, token_matches(*arguments))


@on_reference_and_native
def test_each_token_is_counted_in_the_other_text(choice: str) -> None:
    left, right = np.array([[5, 7, 5, 2**40, 7]]), np.array([[5, 5, 9, 7], [0, 2**40, 7, 5]])
    with forced(choice):
        counts = token_matches(left, right, np.array([4]), np.array([3, 4]))
    np.testing.assert_array_equal(counts[0], [[2, 0, 2, 0, 0], [1, 1, 1, 1, 0]])
    np.testing.assert_array_equal(counts[1], [[2, 2, 0, 0], [0, 1, 1, 2]])


@on_reference_and_native
def test_the_memory_layout_does_not_change_the_result(choice: str) -> None:
    arguments = case((2, 3, 5, 9), 1)
    with forced(choice):
        expected = token_matches(*arguments)
        for arrays in zip(*map(layouts, arguments), strict=True):
            assert_same(token_matches(*arrays), expected)


@on_every_width
def test_the_number_of_threads_does_not_change_the_result(width: str) -> None:
    arguments = case((50, 2, 9, 7), 3)
    with forced(width):
        with threads(1):
            one = token_matches(*arguments)
        with threads(3):
            assert_same(token_matches(*arguments), one)


@on_reference_and_native
def test_empty_batches_and_texts_without_words_are_valid(choice: str) -> None:
    left_ids, right_ids, left, right = case((2, 2, 4, 5), 0)
    with forced(choice):
        assert [x.shape for x in token_matches(left_ids[:0], right_ids[:0], left[:0], right[:0])] == [(0, 4), (0, 5)]
        for counts in (
            token_matches(left_ids, right_ids, 0 * left, right),
            token_matches(left_ids, right_ids, left, 0 * right),
            token_matches(left_ids[:, :0], right_ids, 0 * left, right),
        ):
            assert not any(x.any() for x in counts)


def test_invalid_arguments_raise_an_input_error() -> None:
    ids, one = np.zeros((1, 2), np.int64), np.array([1])
    with pytest.raises(InputError, match="There are 3 right texts for 2 left texts"):
        token_matches(np.zeros((2, 2), int), np.zeros((3, 2), int), one, one)
    with pytest.raises(InputError, match="left_ids has dtype float64: pass integers"):
        token_matches(ids.astype(float), ids, one, one)
    with pytest.raises(InputError, match=r"right_ids has 1 dimensions: pass an array of 2, \[B, R\]"):
        token_matches(ids, ids[0], one, one)
    with pytest.raises(InputError, match="left_lengths has values from 3 to 3: pass lengths from 0 to 2"):
        token_matches(ids, ids, one + 2, one)
