"""The PyTorch functions where and normalize, compared with PyTorch's own."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernels.forcing import result_and_gradients
from pairlight.kernels.autograd.elementwise import normalize, where

shapes = st.lists(st.integers(0, 5), min_size=1, max_size=4)
SPECIAL = torch.tensor([-torch.inf, -1.5, -0.0, 0.0, 2.0, torch.inf, torch.nan])


def numbers(shape: list[int], seed: int, dtype: torch.dtype) -> Tensor:
    g = torch.Generator().manual_seed(seed)
    return SPECIAL[torch.randint(len(SPECIAL), shape, generator=g)].to(dtype)


def bits(x: Tensor) -> Tensor:
    return x.contiguous().view(torch.int32 if x.dtype == torch.float32 else torch.int64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@settings(max_examples=100, deadline=None)
@given(shapes, st.data(), st.integers(0, 10**6), st.sampled_from([0, 0.0, -2, 1.5, -float("inf")]), st.booleans())
def test_selected_numbers_have_the_bits_of_pytorch(
    dtype: torch.dtype, shape: list[int], data: Any, seed: int, y: float, transposed: bool
) -> None:
    x = numbers(shape, seed, dtype)
    x = x.movedim(0, -1) if transposed else x
    of_mask = [size if data.draw(st.booleans()) else 1 for size in x.shape][data.draw(st.integers(0, x.dim())) :]
    mask = torch.rand(of_mask, generator=torch.Generator().manual_seed(seed)) < 0.6
    assert torch.equal(bits(where(mask, x, y)), bits(torch.where(mask, x, y)))


def test_a_mask_may_extend_the_array() -> None:
    mask = torch.tensor([[True, False], [False, True]])
    assert where(mask, torch.ones(2), 0).tolist() == [[1, 0], [0, 1]]
    assert where(mask, 3, torch.zeros(2, 2)).tolist() == [[3, 0], [0, 3]]


def test_no_gradient_passes_where_the_condition_does_not_hold() -> None:
    x = torch.tensor([1.0, 2, 3], requires_grad=True)
    where(torch.tensor([True, False, True]), x, 0).backward(torch.tensor([5.0, torch.nan, 7]))
    assert x.grad is not None
    assert x.grad.tolist() == [5, 0, 7]


def test_an_array_that_is_kept_as_a_whole_is_not_copied() -> None:
    x = torch.ones(2, 3)
    assert where(torch.ones(2, 1, dtype=torch.bool), x, 0) is x


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.integers(0, 10**6))
def test_vectors_of_length_1_and_their_gradients_are_those_of_pytorch(shape: list[int], seed: int) -> None:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    x[0] *= 1e-6  # shorter than the larger eps
    for eps in (1e-8, 1e-3):
        found = result_and_gradients(lambda a, eps=eps: normalize(a, eps), [x])  # type: ignore[misc]
        expected = result_and_gradients(lambda a, eps=eps: F.normalize(a, dim=-1, eps=eps), [x])  # type: ignore[misc]
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


def test_a_zero_vector_stays_zero() -> None:
    x = torch.zeros(2, 3, requires_grad=True)
    y = normalize(x, 1e-8)
    y.sum().backward()
    assert not y.any()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, torch.full((2, 3), 1e8))
