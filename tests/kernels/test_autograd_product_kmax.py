"""The PyTorch function product_kmax, with the native kernel and with its reference implementation."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernels.forcing import WIDTHS, forced, on_every_width, threads
from pairlight.core.errors import InputError
from pairlight.kernels.autograd.kmax import kmax
from pairlight.kernels.autograd.product_kmax import product_kmax

sizes = st.tuples(*(st.integers(1, most) for most in (3, 3, 4, 11, 40, 20)))  # lefts, times, C, L, R, D
Case = tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]


def case(size: tuple[int, ...], seed: int, dtype: torch.dtype, shared: bool, offset: bool) -> Case:
    """Small integers, so that sums are exact and there are many ties. Padding is NaN."""
    B, times, C, L, R, D = size
    g = torch.Generator().manual_seed(seed)
    left = torch.randint(0, L + 1, (B,), generator=g)
    right = torch.randint(0, R + 1, (B * times,), generator=g)
    u = torch.randint(-2, 3, (B, L, C, D), generator=g).to(dtype)
    v = torch.randint(-2, 3, (B * times, R, 1 if shared else C, D), generator=g).to(dtype)
    u[torch.arange(L) >= left[:, None]] = torch.nan
    v[torch.arange(R) >= right[:, None]] = torch.nan
    return u, v, left, right, torch.randint(-2, 3, (B, L, C), generator=g).to(dtype) if offset else None


def of_the_grid(u: Tensor, v: Tensor, left: Tensor, right: Tensor, k: int, offset: Tensor | None, relu: bool) -> object:
    """The largest cells of each pair, by definition."""
    found = []
    for r, words in enumerate(v):
        at = r % len(u)
        s = torch.einsum("lcd,rcd->clr", u[at], words.expand(-1, u.shape[2], -1))
        s = s if offset is None else s + offset[at].T[..., None]
        found.append(kmax((s.relu() if relu else s)[None], left[at : at + 1], right[r : r + 1], k))
    return [torch.cat(each).tolist() for each in zip(*found, strict=True)]


@pytest.mark.parametrize("choice", ["reference", WIDTHS[0], "widest"])
@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 10**6), st.sampled_from([1, 3, 20]), *[st.booleans()] * 4)
def test_the_cells_are_those_of_the_grid(choice, size, seed, k, shared, offset, relu, single):
    u, v, left, right, by = case(size, seed, torch.float32 if single else torch.float64, shared, offset)
    expected = of_the_grid(u, v, left, right, k, by, relu)
    with forced("" if choice == "widest" else choice):
        found = product_kmax(u, v, left, right, k, offset=by, relu=relu)
    assert [each.tolist() for each in found] == expected


@on_every_width
def test_the_kernel_equals_the_reference_on_random_numbers(width):
    torch.manual_seed(0)
    u, v, offset = torch.randn(5, 23, 4, 50), torch.randn(15, 37, 1, 50), torch.randn(5, 23, 4)
    left, right = torch.randint(1, 24, (5,)), torch.randint(1, 38, (15,))
    with forced(width):
        kernel = product_kmax(u, v, left, right, 7, offset=offset, relu=True)
    with forced("reference"):
        reference = product_kmax(u, v, left, right, 7, offset=offset, relu=True)
    torch.testing.assert_close(kernel[0], reference[0], rtol=1e-6, atol=2e-5)


@on_every_width
def test_layouts_and_threads_do_not_change_the_result(width):
    u, v = torch.randn(100, 9, 3, 8), torch.randn(100, 7, 3, 8)
    left, right = torch.randint(0, 10, (100,)), torch.randint(0, 8, (100,))
    with forced(width), threads(1):
        one = product_kmax(u, v, left, right, 5)
    with forced(width), threads(3):
        three = product_kmax(u.mT.contiguous().mT, v.transpose(0, 1).contiguous().transpose(0, 1), left, right, 5)
    assert all(torch.equal(a, b) for a, b in zip(one, three, strict=True))


def test_invalid_arguments_raise_an_input_error():
    u, v, one, two = torch.zeros(2, 3, 1, 4), torch.zeros(4, 5, 1, 4), torch.tensor([1, 1]), torch.tensor([1] * 4)
    with pytest.raises(InputError, match="There are 3 right texts for 2 left texts"):
        product_kmax(u, v[:3], one, two[:3], 1)
    with pytest.raises(InputError, match=r"v has shape \[4, 5, 1, 4\]: pass an array of shape \[4, 5, 1, 6\]"):
        product_kmax(torch.zeros(2, 3, 1, 6), v, one, two, 1)
    with pytest.raises(InputError, match=r"offset has shape \[1\]: pass an array of shape \[2, 3, 1\]"):
        product_kmax(u, v, one, two, 1, offset=torch.zeros(1))
    with pytest.raises(InputError, match="k is 0"):
        product_kmax(u, v, one, two, 0)
