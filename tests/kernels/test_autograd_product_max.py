"""The PyTorch function product_max, with the native kernel and with its reference implementation."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernels.forcing import WIDTHS, assert_agrees, forced, on_every_width, on_reference_and_native, same_bits, threads
from kernels.forcing import result_and_gradients as of_sum
from pairlight.core.errors import InputError
from pairlight.kernels.autograd.product_max import ProductMax, product_max

sizes = st.tuples(*(st.integers(1, most) for most in (3, 4, 40, 40, 20)), st.integers(0, 10**6))


def example(B: int, times: int, L: int, R: int, D: int, seed: int) -> tuple[list[Tensor], list[Tensor]]:
    """u and v, and the lengths."""
    g = torch.Generator().manual_seed(seed)
    tensors = [torch.randn(shape, generator=g, dtype=torch.float64) for shape in ((B, L, D), (B * times, R, D))]
    return tensors, [torch.randint(0, n + 1, (rows,), generator=g) for rows, n in ((B, L), (B * times, R))]


def joined(found: ProductMax) -> Tensor:
    """All that has a gradient."""
    return torch.cat([found.rows, found.columns, found.values], 1)


def of_the_grid(u: Tensor, v: Tensor, left: Tensor, right: Tensor, k: int) -> Tensor:
    """The same by definition: maxima and topk of the whole grid, which is masked."""
    times = len(v) // len(u)
    in_row = torch.arange(u.shape[1]) < left.repeat(times)[:, None]
    in_column = torch.arange(v.shape[1]) < right[:, None]
    s = torch.where(in_row[..., None], u.repeat(times, 1, 1), 0) @ torch.where(in_column[..., None], v, 0).mT
    s = s.masked_fill(~(in_row[..., None] & in_column[:, None]), -torch.inf)
    values = s.flatten(1).topk(min(k, s[0].numel()), 1).values
    found = torch.cat([s.amax(2), s.amax(1), values], 1)
    found = torch.cat([found, found.new_zeros(len(s), k - values.shape[1])], 1)
    return torch.where(found.isinf(), 0, found)


@pytest.mark.parametrize("choice", ["reference", *WIDTHS])
@settings(max_examples=30, deadline=None)
@given(sizes, st.sampled_from([0, 1, 10, 30, 2000]))
def test_result_and_gradients_are_those_of_the_grid(choice, size, k):
    tensors, lengths = example(*size)
    expected = of_sum(lambda u, v: of_the_grid(u, v, *lengths, k), tensors)
    with forced(choice):
        found = of_sum(lambda u, v: joined(product_max(u, v, *lengths, k)), tensors)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@on_every_width
@pytest.mark.parametrize("size", [(4, 2, 1, 200, 33, 0), (3, 1, 200, 90, 7, 1), (1, 5, 30, 40, 128, 2)])
def test_the_kernel_equals_the_reference_in_single_precision(width: str, size: tuple[int, ...]) -> None:
    tensors, lengths = example(*size)
    unit = [torch.nn.functional.normalize(x, dim=-1) for x in tensors]
    assert_agrees(width, lambda u, v: joined(product_max(u, v, *lengths, 10)), unit)


@on_every_width
@settings(max_examples=8, deadline=None)
@given(st.tuples(*(st.integers(1, most) for most in (2, 3, 4, 6, 5)), st.integers(0, 10**6)), st.integers(0, 5))
def test_the_gradient_is_the_derivative(width: str, size: tuple[int, ...], k: int) -> None:
    tensors, lengths = example(*size)
    leaves = [x.requires_grad_() for x in tensors]
    with forced(width):
        assert torch.autograd.gradcheck(lambda u, v: joined(product_max(u, v, *lengths, k)), leaves)


@on_every_width
def test_of_equal_cells_the_first_has_the_gradient(width: str) -> None:
    u, v = torch.ones(1, 2, 3).requires_grad_(), torch.ones(1, 4, 3).requires_grad_()
    with forced(width):
        found = product_max(u, v, torch.tensor([2]), torch.tensor([4]), 3)
        assert found.positions.tolist() == [[0, 1, 2]]
        found.rows.sum().backward()
    assert u.grad[0, :, 0].tolist() == [1, 1]
    assert v.grad[0, :, 0].tolist() == [2, 0, 0, 0]


@on_reference_and_native
@pytest.mark.parametrize("part", ["rows", "columns", "values"])
def test_each_part_and_each_side_can_be_used_alone(choice: str, part: str) -> None:
    (u, v), lengths = example(3, 2, 5, 7, 4, 0)
    expected = of_sum(lambda u, v: getattr(product_max(u, v, *lengths, 3), part), [u, v])
    with forced(choice):
        both = of_sum(lambda u, v: getattr(product_max(u, v, *lengths, 3), part), [u, v])
        left = of_sum(lambda u: getattr(product_max(u, v, *lengths, 3), part), [u])
        right = of_sum(lambda v: getattr(product_max(u, v, *lengths, 3), part), [v])
    assert same_bits(both, [left[0], left[1], right[1]])
    for a, b in zip(both, expected, strict=True):
        torch.testing.assert_close(a, b)


@on_reference_and_native
@pytest.mark.parametrize("poison", [torch.nan, 1e3])
def test_padding_is_never_read(choice: str, poison: float) -> None:
    (u, v), (left, right) = example(5, 3, 9, 20, 6, 3)
    dirty_u = u.masked_fill((torch.arange(9) >= left[:, None])[..., None], poison)
    dirty_v = v.masked_fill((torch.arange(20) >= right[:, None])[..., None], poison)
    with forced(choice):
        clean = of_sum(lambda u, v: joined(product_max(u, v, left, right, 5)), [u, v])
        dirty = of_sum(lambda u, v: joined(product_max(u, v, left, right, 5)), [dirty_u, dirty_v])
    assert same_bits(clean, dirty)


@on_every_width
@pytest.mark.parametrize("lefts", [1, 5, 50])
def test_layouts_and_threads_do_not_change_result_and_gradients(width: str, lefts: int) -> None:
    tensors, lengths = example(lefts, 50 // lefts, 9, 17, 12, 5)
    u, v = (x.float() for x in tensors)
    runs = []
    for n, as_given in (
        (1, lambda x: x),
        (3, lambda x: x.mT.contiguous().mT),
        (3, lambda x: x.transpose(0, 1).clone().transpose(0, 1)),
    ):
        with forced(width), threads(n):
            runs.append(of_sum(lambda u, v, f=as_given: joined(product_max(f(u), f(v), *lengths, 5)), [u, v]))
    assert same_bits(runs[0], runs[1])
    assert same_bits(runs[0], runs[2])


@on_reference_and_native
def test_empty_batches_and_texts_have_empty_results_and_gradients_of_zero(choice: str) -> None:
    (u, v), (left, right) = example(2, 2, 4, 5, 3, 0)
    with forced(choice):
        assert joined(product_max(u[:0], v[:0], left[:0], right[:0], 2)).shape == (0, 11)
        for m, n in ((0, 5), (4, 0), (0, 0)):
            found = of_sum(
                lambda u, v: joined(product_max(u, v, 0 * left, right.clamp(max=v.shape[1]), 2)), [u[:, :m], v[:, :n]]
            )
            assert not any(x.any() for x in found)


def test_half_precision_uses_the_reference() -> None:
    (u, v), lengths = example(2, 2, 4, 5, 3, 0)
    found = product_max(u.bfloat16(), v.bfloat16(), *lengths, 2)
    assert found.rows.dtype == torch.bfloat16
    torch.testing.assert_close(found.rows.double(), product_max(u, v, *lengths, 2).rows, rtol=0.05, atol=0.05)


def test_invalid_arguments_raise_an_input_error() -> None:
    u, v, one, two = torch.zeros(2, 3, 4), torch.zeros(4, 5, 4), torch.tensor([1, 1]), torch.tensor([1] * 4)
    with pytest.raises(InputError, match="There are 3 right texts for 2 left texts"):
        product_max(u, v[:3], one, two[:3], 1)
    with pytest.raises(InputError, match=r"v has shape \[4, 5, 4\]: pass an array of shape \[4, 5, 6\]"):
        product_max(torch.zeros(2, 3, 6), v, one, two, 1)
    with pytest.raises(InputError, match="convert both to the same dtype"):
        product_max(u, v.double(), one, two, 1)
    with pytest.raises(InputError, match="k is -1: pass 0 or more"):
        product_max(u, v, one, two, -1)
