"""The function ngram_sums in PyTorch and in NumPy, with the native kernel and with their references."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernels.forcing import (
    assert_agrees,
    forced,
    in_both_precisions,
    layouts,
    on_every_width,
    on_reference_and_native,
    result_and_gradients,
    same_bits,
    threads,
)
from pairlight.core.errors import InputError
from pairlight.kernels.autograd.ngram_sums import ngram_sums
from pairlight.kernels.native import ngram_sums as native

sizes = st.tuples(*(st.integers(1, most) for most in (9, 4, 6, 4, 150)), st.integers(0, 10**6))


def example(words: int, B: int, L: int, grams: int, filters: int, seed: int) -> tuple[Tensor, Tensor]:
    """p and at; a third of the positions have no word."""
    g = torch.Generator().manual_seed(seed)
    p = torch.randn(words, grams * (grams + 1) // 2 * filters, generator=g, dtype=torch.float64)
    at = torch.randint(0, words, (B, L), generator=g)
    return p, at.masked_fill(torch.rand(B, L, generator=g) < 0.3, -1)


def test_a_trigram_is_the_relu_of_the_sum_of_its_three_words() -> None:
    p = torch.arange(12.0).reshape(2, 6) - 4  # the parts of words 0 and 1: n = 1, 2, 2, 3, 3, 3
    y = ngram_sums(p, torch.tensor([[1, 0, 1, -1]]), 3)
    assert y.tolist() == [[[2, 3 - 2, 5 + 0 + 7], [0, -3 + 4, -1 + 6], [2, 3, 5], [0, 0, 0]]]


@on_every_width
@settings(max_examples=25, deadline=None)
@given(sizes)
def test_the_result_equals_the_reference(width: str, size: tuple[int, ...]) -> None:
    p, at = example(*size)
    grams = size[3]
    assert_agrees(width, lambda p: ngram_sums(p, at, grams), [p])
    runs = []
    for choice in (width, "reference"):
        with forced(choice):
            runs.append([*result_and_gradients(lambda p: ngram_sums(p, at, grams), [p])])
            y = native.ngram_sums(p.numpy(), at.numpy(), grams)
            torch.testing.assert_close(torch.from_numpy(y), runs[-1][0], rtol=1e-12, atol=1e-12)
    for kernel, reference in zip(*runs, strict=True):
        torch.testing.assert_close(kernel, reference, rtol=1e-12, atol=1e-12)


@on_every_width
def test_the_gradient_is_the_derivative(width: str) -> None:
    p, at = example(4, 2, 5, 3, 3, 0)
    with forced(width):
        assert torch.autograd.gradcheck(lambda p: ngram_sums(p, at, 3), [p.requires_grad_()])


@in_both_precisions
@on_every_width
def test_the_number_of_threads_does_not_change_the_result(width: str, dtype: Any) -> None:
    p, at = example(30, 20, 9, 3, 150, 1)
    p = torch.from_numpy(p.numpy().astype(dtype))
    with forced(width):
        runs = []
        for n in (1, 3):
            with threads(n):
                runs.append(result_and_gradients(lambda p: ngram_sums(p, at, 3), [p]))
                np.testing.assert_array_equal(native.ngram_sums(p.numpy(), at.numpy(), 3), runs[-1][0].numpy())
    assert same_bits(*runs)


@on_reference_and_native
def test_the_memory_layout_does_not_change_the_result(choice: str) -> None:
    p, at = example(5, 3, 4, 2, 7, 2)
    with forced(choice):
        expected = ngram_sums(p, at, 2)
        assert torch.equal(ngram_sums(p.mT.contiguous().mT, at.mT.contiguous().mT, 2), expected)
        for arrays in zip(layouts(p.numpy()), layouts(at.numpy()), strict=True):
            np.testing.assert_array_equal(native.ngram_sums(*arrays, 2), expected.numpy())


@on_reference_and_native
def test_nan_stays_with_the_ngrams_of_its_word(choice: str) -> None:
    p, at = torch.ones(3, 3), torch.tensor([[0, 1, 2], [2, 2, -1]])
    p[0] = torch.nan
    with forced(choice):
        y, d_p = result_and_gradients(lambda p: ngram_sums(p, at, 2), [p])
        np.testing.assert_array_equal(native.ngram_sums(p.numpy(), at.numpy(), 2), y.numpy())
    assert y[0, 0].isnan().all()
    assert y[0, 1:].isfinite().all()
    assert y[1].isfinite().all()
    assert d_p.isfinite().all()


@on_reference_and_native
def test_an_empty_batch_has_an_empty_result(choice: str) -> None:
    p, at = example(2, 2, 3, 2, 4, 0)
    with forced(choice):
        assert ngram_sums(p, at[:0], 2).shape == (0, 3, 8)
        assert ngram_sums(p[:0], at[:, :0], 2).shape == (2, 0, 8)
        assert native.ngram_sums(p.numpy(), at[:0].numpy(), 2).shape == (0, 3, 8)


def test_invalid_arguments_raise_an_input_error() -> None:
    p, at = example(2, 2, 3, 2, 4, 0)
    for function, x, positions in ((ngram_sums, p, at), (native.ngram_sums, p.numpy(), at.numpy())):
        with pytest.raises(InputError, match="p has 11 columns: pass a multiple of 3 for n-grams of up to 2 words"):
            function(x[:, 1:], positions, 2)  # type: ignore[operator]
        with pytest.raises(InputError, match=r"at has values from -1 to 2: pass numbers from -1 to 1"):
            function(x, positions + (positions == positions.max()), 2)  # type: ignore[operator]
