"""The PyTorch functions kernel_counts and cosine_counts, with the native kernel and with their reference."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernels.forcing import (
    assert_agrees,
    forced,
    on_every_width,
    on_reference_and_native,
    result_and_gradients,
    same_bits,
    threads,
)
from pairlight.core.errors import InputError
from pairlight.kernels.autograd.kernel_counts import cosine_counts, kernel_counts

MU, SIGMA = [1.0, 0.9, 0.3, -0.3, -0.9], [0.05, 0.1, 0.2, 0.1, 0.1]
sizes = st.tuples(*(st.integers(1, most) for most in (5, 4, 6, 40)), st.integers(0, 10**6))
cosine_sizes = st.tuples(*(st.integers(1, most) for most in (3, 3, 5, 20, 3, 9)), st.integers(0, 10**6))


def grid_example(B: int, C: int, L: int, R: int, seed: int) -> tuple[list[Tensor], list[Tensor]]:
    """s and b, and the lengths."""
    g = torch.Generator().manual_seed(seed)
    s = 2 * torch.rand(B, C, L, R, generator=g, dtype=torch.float64) - 1
    b = 0.5 + torch.rand(B, R, generator=g, dtype=torch.float64)
    return [s, b], [torch.randint(0, n + 1, (B,), generator=g) for n in (L, R)]


def cosine_example(B: int, times: int, L: int, R: int, M: int, D: int, seed: int) -> tuple[list[Tensor], list[Tensor]]:
    """u, v and b, and the lengths."""
    g = torch.Generator().manual_seed(seed)
    u, v = (torch.randn(shape, generator=g, dtype=torch.float64) for shape in ((B, L, M, D), (B * times, R, 4 - M, D)))
    b = 0.5 + torch.rand(B * times, R, generator=g, dtype=torch.float64)
    return [u, v, b], [torch.randint(0, n + 1, (rows,), generator=g) for rows, n in ((B, L), (B * times, R))]


@on_every_width
@settings(max_examples=25, deadline=None)
@given(sizes)
def test_counts_of_a_grid_equal_the_reference(width: str, size: tuple[int, int, int, int, int]) -> None:
    tensors, lengths = grid_example(*size)
    assert_agrees(width, lambda s, b: kernel_counts(s, b, *lengths, MU, SIGMA), tensors)


@on_every_width
@settings(max_examples=25, deadline=None)
@given(cosine_sizes)
def test_counts_of_cosines_equal_the_reference_in_double_precision(width: str, size: tuple[int, ...]) -> None:
    tensors, lengths = cosine_example(*size)
    runs = []
    for choice in (width, "reference"):
        with forced(choice):
            runs.append(result_and_gradients(lambda *x: cosine_counts(*x, *lengths, MU, SIGMA), tensors))
    for kernel, reference in zip(*runs, strict=True):
        torch.testing.assert_close(kernel, reference, rtol=1e-10, atol=1e-10)


@on_every_width
def test_counts_of_cosines_equal_the_reference_in_single_precision(width: str) -> None:
    tensors, lengths = cosine_example(4, 2, 12, 40, 3, 32, 1)
    assert_agrees(width, lambda *x: cosine_counts(*x, *lengths, MU, SIGMA), tensors)


@on_every_width
@settings(max_examples=6, deadline=None)
@given(st.tuples(*(st.integers(1, most) for most in (3, 2, 3, 9)), st.integers(0, 10**6)))
def test_the_gradient_of_a_grid_is_the_derivative(width: str, size: tuple[int, int, int, int, int]) -> None:
    tensors, lengths = grid_example(*size)
    leaves = [x.requires_grad_() for x in tensors]
    with forced(width):
        assert torch.autograd.gradcheck(lambda s, b: kernel_counts(s, b, *lengths, MU, SIGMA), leaves)


@on_every_width
@settings(max_examples=6, deadline=None)
@given(st.tuples(*(st.integers(1, most) for most in (2, 2, 3, 5, 3)), st.integers(2, 3), st.integers(0, 10**6)))
def test_the_gradient_of_cosines_is_the_derivative(width: str, size: tuple[int, ...]) -> None:
    tensors, lengths = cosine_example(*size)
    leaves = [x.requires_grad_() for x in tensors]
    with forced(width):
        assert torch.autograd.gradcheck(lambda *x: cosine_counts(*x, *lengths, MU, SIGMA), leaves)


@on_reference_and_native
def test_a_zero_vector_has_a_finite_gradient(choice: str) -> None:
    (u, v, b), lengths = cosine_example(2, 1, 3, 4, 2, 3, 0)
    u[0, 0, 0] = 0
    with forced(choice):
        _, d_u, d_v, d_b = result_and_gradients(lambda *x: cosine_counts(*x, *lengths, MU, SIGMA), [u, v, b])
    assert all(x.isfinite().all() for x in (d_u, d_v, d_b))


@on_reference_and_native
def test_padding_is_never_read(choice: str) -> None:
    (s, b), (left, right) = grid_example(7, 2, 5, 20, 3)
    in_row, in_column = torch.arange(5) < left[:, None], torch.arange(20) < right[:, None]
    with_nan = [
        s.masked_fill(~(in_row[:, None, :, None] & in_column[:, None, None]), torch.nan),
        b.masked_fill(~in_column, torch.nan),
    ]
    with forced(choice):
        clean = result_and_gradients(lambda s, b: kernel_counts(s, b, left, right, MU, SIGMA), [s, b])
        dirty = result_and_gradients(lambda s, b: kernel_counts(s, b, left, right, MU, SIGMA), with_nan)
    assert same_bits(clean, dirty)
    (u, v, b), (left, right) = cosine_example(3, 2, 5, 20, 3, 8, 3)
    dirty_u = u.masked_fill((torch.arange(5) >= left[:, None])[..., None, None], torch.nan)
    dirty_v = v.masked_fill((torch.arange(20) >= right[:, None])[..., None, None], torch.nan)
    with forced(choice):
        clean = result_and_gradients(lambda *x: cosine_counts(*x, left, right, MU, SIGMA), [u, v, b])
        dirty = result_and_gradients(lambda *x: cosine_counts(*x, left, right, MU, SIGMA), [dirty_u, dirty_v, b])
    assert same_bits(clean, dirty)


@on_every_width
def test_the_number_of_threads_does_not_change_the_result(width: str) -> None:
    tensors, lengths = grid_example(50, 3, 9, 17, 5)
    single = [x.float() for x in tensors]
    with forced(width):
        runs = []
        for n in (1, 3):
            with threads(n):
                runs.append(result_and_gradients(lambda s, b: kernel_counts(s, b, *lengths, MU, SIGMA), single))
    assert same_bits(*runs)


@on_every_width
def test_the_result_of_a_pair_does_not_depend_on_its_batch(width: str) -> None:
    tensors, (left, right) = grid_example(6, 3, 9, 17, 5)
    s, b = (x.float() for x in tensors)
    with forced(width):
        batch = kernel_counts(s, b, left, right, MU, SIGMA)
        for i, (m, n) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            one = slice(i, i + 1)
            alone = kernel_counts(s[one, :, :m, :n], b[one, :n], left[one], right[one], MU, SIGMA)
            assert torch.equal(batch[one, :, :m], alone)


@on_every_width
def test_strides_do_not_change_the_result(width: str) -> None:
    (s, b), lengths = grid_example(3, 2, 5, 9, 4)
    strided = torch.stack([s, s + 1], -1)[..., 0]
    with forced(width):
        expected = kernel_counts(s, b, *lengths, MU, SIGMA)
        assert torch.equal(kernel_counts(strided, b, *lengths, MU, SIGMA), expected)
        assert torch.equal(kernel_counts(s.mT.contiguous().mT, b, *lengths, MU, SIGMA), expected)


@on_reference_and_native
def test_an_empty_batch_has_an_empty_result(choice: str) -> None:
    (u, v, b), (left, right) = cosine_example(2, 1, 4, 5, 2, 3, 0)
    with forced(choice):
        assert cosine_counts(u[:0], v[:0], b[:0], left[:0], right[:0], MU, SIGMA).shape == (0, 4, 4, 5)


def test_invalid_arguments_raise_an_input_error() -> None:
    (s, b), lengths = grid_example(2, 1, 3, 4, 0)
    with pytest.raises(InputError, match=r"b has shape \[2, 3\]: pass an array of shape \[2, 4\]"):
        kernel_counts(s, b[:, 1:], *lengths, MU, SIGMA)
    with pytest.raises(InputError, match="convert both to the same dtype"):
        kernel_counts(s, b.float(), *lengths, MU, SIGMA)
