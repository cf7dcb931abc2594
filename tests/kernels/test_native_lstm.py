"""The NumPy functions of the LSTM, compared with the PyTorch functions and with their reference implementation."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.forcing import forced, in_both_precisions, layouts, on_every_width, on_reference_and_native, threads
from pairlight.core.errors import InputError
from pairlight.kernels.autograd import lstm as autograd
from pairlight.kernels.native.lstm import bilstm, lstm, lstm_of_rows

Array = NDArray[Any]
sizes = st.tuples(*(st.integers(1, most) for most in (37, 12, 21, 21)), st.integers(0, 10**6))
TOLERANCE = {np.float32: 1e-6, np.float64: 1e-12}


def example(B: int, L: int, E: int, H: int, seed: int, dtype: Any = np.float32) -> tuple[Array, Array, list[Array]]:
    """Words with NaN as padding, their lengths, and the parameters of both directions."""
    g = np.random.default_rng(seed)
    lengths = g.integers(0, L + 1, B)
    x = g.standard_normal((B, L, E)).astype(dtype)
    x[np.arange(L) >= lengths[:, None]] = np.nan
    shapes = [(4 * H, E + H), (4 * H,)] * 2
    return x, lengths, [((E + H) ** -0.5 * g.standard_normal(shape)).astype(dtype) for shape in shapes]


def with_torch(x: Array, lengths: Array, parameters: list[Array]) -> Array:
    return autograd.bilstm(*map(torch.from_numpy, (x, lengths, *parameters))).numpy()


@in_both_precisions
@on_every_width
@settings(max_examples=20, deadline=None)
@given(sizes)
def test_the_result_equals_that_of_the_pytorch_function(
    width: str, dtype: Any, size: tuple[int, int, int, int, int]
) -> None:
    x, lengths, parameters = example(*size, dtype)
    with forced(width):
        result = bilstm(x, lengths, *parameters)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, with_torch(x, lengths, parameters))


@in_both_precisions
@on_every_width
@settings(max_examples=20, deadline=None)
@given(sizes)
def test_the_kernel_equals_the_reference(width: str, dtype: Any, size: tuple[int, int, int, int, int]) -> None:
    x, lengths, parameters = example(*size, dtype)
    with forced(width):
        kernel = bilstm(x, lengths, *parameters)
    with forced("reference"):
        reference = bilstm(x, lengths, *parameters)
    assert reference.dtype == dtype
    np.testing.assert_allclose(kernel, reference, rtol=0, atol=TOLERANCE[dtype])


@in_both_precisions
@on_every_width
@settings(max_examples=20, deadline=None)
@given(sizes, st.integers(1, 30))
def test_words_that_are_rows_have_the_states_of_their_vectors(
    width: str, dtype: Any, size: tuple[int, int, int, int, int], distinct: int
) -> None:
    x, lengths, (*forwards, weight, bias) = example(*size, dtype)
    B, L, E = x.shape
    words = np.random.default_rng(size[-1]).standard_normal((distinct, E)).astype(dtype)
    rows = np.random.default_rng(size[-1]).integers(0, distinct, (B, L))
    directions = [(*forwards, False), (weight, bias, True)]
    expected = bilstm(words[rows], lengths, *forwards, weight, bias)
    for choice in (width, "reference"):
        with forced(choice):
            found = lstm_of_rows(words, rows, lengths, directions)
            one = lstm_of_rows(words, rows, lengths, directions[1:])
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[dtype])
        np.testing.assert_array_equal(one, found[..., found.shape[2] // 2 :])


@on_every_width
def test_the_states_of_rows_do_not_depend_on_their_batch(width: str) -> None:
    x, lengths, parameters = example(21, 8, 5, 7, 2)
    words, rows = np.nan_to_num(x[:, 0]), np.random.default_rng(2).integers(0, 21, (21, 8))
    directions = [(*parameters[:2], False), (*parameters[2:], True)]
    with forced(width):
        batch = lstm_of_rows(words, rows, lengths, directions)
        for b in range(21):
            alone = lstm_of_rows(words[rows[b]], np.arange(8)[None], lengths[b : b + 1], directions)
            np.testing.assert_array_equal(batch[b], alone[0])


@on_reference_and_native
@pytest.mark.parametrize("reverse", [False, True])
def test_one_direction_is_half_of_both(choice: str, reverse: bool) -> None:
    x, lengths, parameters = example(19, 9, 13, 7, 3)
    with forced(choice):
        both = bilstm(x, lengths, *parameters)
        one = lstm(x, lengths, *parameters[2 * reverse : 2 * reverse + 2], reverse=reverse)
    np.testing.assert_array_equal(one, both[..., 7 * reverse : 7 * reverse + 7])


@in_both_precisions
@on_reference_and_native
def test_the_memory_layout_does_not_change_the_result(choice: str, dtype: Any) -> None:
    x, lengths, parameters = example(9, 5, 6, 4, 4, dtype)
    inputs = [x, lengths, *parameters]
    with forced(choice):
        expected = bilstm(x, lengths, *parameters)
        for arrays in zip(*map(layouts, inputs), strict=True):
            np.testing.assert_allclose(bilstm(*arrays), expected, rtol=0, atol=0 if choice != "reference" else 1e-6)


@on_reference_and_native
def test_broadcast_words_are_read_like_copies_of_them(choice: str) -> None:
    _, lengths, parameters = example(9, 5, 6, 4, 4)
    for shape in [(1, 5, 6), (9, 1, 6), (9, 5, 1), (1, 1, 1)]:
        x = np.broadcast_to(np.random.default_rng(0).standard_normal(shape).astype(np.float32), (9, 5, 6))
        with forced(choice):
            np.testing.assert_array_equal(bilstm(x, lengths, *parameters), bilstm(x.copy(), lengths, *parameters))


@on_every_width
def test_the_number_of_threads_does_not_change_the_result(width: str) -> None:
    x, lengths, parameters = example(150, 12, 9, 11, 5)
    with forced(width):
        with threads(1):
            one = bilstm(x, lengths, *parameters)
        with threads(3):
            three = bilstm(x, lengths, *parameters)
    np.testing.assert_array_equal(one, three)


@on_reference_and_native
def test_large_sums_saturate_and_nan_is_propagated_within_its_text_only(choice: str) -> None:
    x, _, parameters = example(9, 5, 3, 4, 4)
    x = np.nan_to_num(x) * np.float32(1e30)
    x[2, 0, 1] = np.nan
    with forced(choice):
        h = bilstm(x, np.full(9, 5), *parameters)
    assert np.isnan(h[2, 0]).all()
    assert (np.abs(np.delete(h, 2, 0)) <= 1).all()


@on_reference_and_native
def test_empty_batches_and_empty_texts_are_valid(choice: str) -> None:
    x, lengths, parameters = example(3, 5, 3, 4, 4)
    with forced(choice):
        assert bilstm(x[:0], lengths[:0], *parameters).shape == (0, 5, 8)
        assert bilstm(x[:, :0], 0 * lengths, *parameters).shape == (3, 0, 8)
        assert not bilstm(x, 0 * lengths, *parameters).any()


def test_lengths_may_have_any_integer_dtype() -> None:
    x, lengths, parameters = example(3, 5, 3, 4, 4)
    expected = bilstm(x, lengths, *parameters)
    np.testing.assert_array_equal(bilstm(x, lengths.astype(np.uint8), *parameters), expected)


def test_half_precision_uses_the_reference_implementation() -> None:
    x, lengths, parameters = example(3, 5, 3, 4, 4)
    result = bilstm(x.astype(np.float16), lengths, *(each.astype(np.float16) for each in parameters))
    assert result.dtype == np.float16
    np.testing.assert_allclose(result, bilstm(x, lengths, *parameters), rtol=0, atol=5e-3)


def test_invalid_arguments_raise_an_input_error() -> None:
    x, lengths, parameters = example(3, 5, 3, 4, 4)
    with pytest.raises(InputError, match=r"weight has shape \[16, 6\]: pass an array of shape \[16, 7\]"):
        bilstm(x, lengths, parameters[0][:, 1:], *parameters[1:])
    with pytest.raises(InputError, match="lengths has values from -1 to 6: pass lengths from 0 to 5"):
        bilstm(x, np.array([1, 6, -1]), *parameters)
    with pytest.raises(InputError, match="lengths has dtype float64: pass integers"):
        bilstm(x, lengths.astype(float), *parameters)
    with pytest.raises(InputError, match="weight has dtype float32 and x has dtype float64: convert both"):
        bilstm(x.astype(float), lengths, *parameters)
    with pytest.raises(InputError, match="x has dtype int64: pass floating-point numbers"):
        bilstm(np.zeros((3, 5, 3), np.int64), lengths, *parameters)
    with pytest.raises(InputError, match="x has 2 dimensions"):
        bilstm(x[0], lengths, *parameters)
    with pytest.raises(InputError, match="x has 0 features and weight has 16 rows"):
        bilstm(x[..., :0], lengths, *parameters)
