"""The PyTorch function kmax, with the native kernel and with its reference implementation."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernels.forcing import forced, on_every_width, on_reference_and_native, threads
from pairlight.core.errors import InputError
from pairlight.kernels.autograd.kmax import kmax

sizes = st.tuples(*(st.integers(1, most) for most in (5, 3, 7, 40)))


def grid(size: tuple[int, ...], seed: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Few distinct values, so that there are many ties; infinities and NaN are among them."""
    B, C, L, R = size
    g = torch.Generator().manual_seed(seed)
    values = torch.tensor([-torch.inf, -2, -1, 0, 0.5, 1, 2, 3, torch.inf, torch.nan], dtype=dtype)
    s = values[torch.randint(0, 10, (B, L, C, R), generator=g)].permute(0, 2, 1, 3)
    return s, torch.randint(0, L + 1, (B,), generator=g), torch.randint(0, R + 1, (B,), generator=g)


def by_sorting(s: Tensor, left: Tensor, right: Tensor, k: int) -> tuple[list[float], list[int]]:
    """The definition: all cells of one channel, sorted by value and then by position."""
    cells = [(float(s[i, j]), i * s.shape[1] + j) for i in range(int(left)) for j in range(int(right))]
    cells.sort(key=lambda cell: (-cell[0] if cell[0] == cell[0] else -torch.inf, cell[1]))
    cells = cells[:k]
    return [v for v, _ in cells] + [0.0] * (k - len(cells)), [p for _, p in cells] + [-1] * (k - len(cells))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@on_reference_and_native
@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 10**6), st.sampled_from([1, 2, 5, 17, 300]))
def test_the_largest_cells_come_first_and_ties_by_position(
    choice: str, dtype: torch.dtype, size: tuple[int, ...], seed: int, k: int
) -> None:
    s, left, right = grid(size, seed, dtype)
    with forced(choice):
        values, positions = kmax(s, left, right, k)
    for b in range(size[0]):
        for c in range(size[1]):
            expected, at = by_sorting(s[b, c], left[b], right[b], k)
            assert positions[b, c].tolist() == at
            torch.testing.assert_close(
                values[b, c], torch.tensor(expected, dtype=dtype), rtol=0, atol=0, equal_nan=True
            )


@on_every_width
@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 10**6), st.sampled_from([1, 3, 8, 100]), st.booleans())
def test_the_kernel_equals_the_reference(width: str, size: tuple[int, ...], seed: int, k: int, single: bool) -> None:
    arguments = grid(size, seed, torch.float32 if single else torch.float64)
    with forced(width):
        kernel = kmax(*arguments, k)
    with forced("reference"):
        reference = kmax(*arguments, k)
    assert torch.equal(kernel[0].nan_to_num(77), reference[0].nan_to_num(77))
    assert torch.equal(kernel[1], reference[1])


def test_the_number_of_threads_does_not_change_the_result() -> None:
    s, left, right = torch.randn(200, 3, 7, 9), torch.randint(0, 8, (200,)), torch.randint(0, 10, (200,))
    with threads(1):
        one = kmax(s, left, right, 5)
    with threads(3):
        three = kmax(s, left, right, 5)
    assert torch.equal(one[0], three[0])
    assert torch.equal(one[1], three[1])


@on_reference_and_native
def test_an_empty_grid_has_no_cells(choice: str) -> None:
    none = torch.zeros(2, dtype=torch.int64)
    with forced(choice):
        values, positions = kmax(torch.zeros(2, 1, 0, 3), none, none, 2)
    assert values.tolist() == [[[0, 0]], [[0, 0]]]
    assert positions.tolist() == [[[-1, -1]], [[-1, -1]]]


def test_invalid_arguments_raise_an_input_error() -> None:
    s, one = torch.zeros(1, 1, 2, 2), torch.tensor([1])
    with pytest.raises(InputError, match="k is 0: pass 1 or more"):
        kmax(s, one, one, 0)
    with pytest.raises(InputError, match="left_lengths has values from 3 to 3: pass lengths from 0 to 2"):
        kmax(s, one + 2, one, 1)
    with pytest.raises(InputError, match=r"s has dtype torch\.int64: pass floating-point numbers"):
        kmax(s.long(), one, one, 1)
