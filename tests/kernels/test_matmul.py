"""Matrix products: the native kernel on NumPy arrays, and the PyTorch functions on top of it."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.forcing import forced, in_both_precisions, on_every_width, result_and_gradients
from pairlight.kernels.autograd import matmul as products
from pairlight.kernels.autograd.matmul import add_product, linear, matmul, product_into
from pairlight.kernels.native import library
from pairlight.kernels.native.matmul import matmul_into

Array = NDArray[Any]
sizes = st.tuples(*(st.integers(0, most) for most in (3, 40, 40, 70)))  # B, M, K, N
# Several blocks of the result, and several of the terms; the last of each is not full.
LARGE = [(1, 500, 7, 330), (1, 13, 700, 33), (2, 250, 300, 340)]


def product(width: str, a: Array, b: Array, bias: Array | None = None, start: Array | None = None) -> Array:
    c = np.full((len(a), a.shape[1], b.shape[2]), np.nan, a.dtype) if start is None else start.copy()
    with forced(width):
        native = library.native(a.dtype)
    assert native is not None
    matmul_into(native, a, b, c, bias, add=start is not None, threads=2)
    return c


def case(size: tuple[int, ...], seed: int, dtype: Any) -> list[Array]:
    B, M, K, N = size
    g = np.random.default_rng(seed)
    return [g.normal(size=shape).astype(dtype) for shape in ((B, M, K), (B, K, N), (N,), (B, M, N))]


def assert_close(a: Array, b: Array, dtype: Any) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=3e-4 if dtype == np.float32 else 1e-11)


@in_both_precisions
@on_every_width
@settings(max_examples=30, deadline=None)
@given(sizes, st.integers(0, 10**6), st.booleans(), st.booleans())
def test_the_product_is_that_of_numpy_in_every_layout(
    width: str, dtype: Any, size: tuple[int, ...], seed: int, turn_a: bool, turn_b: bool
) -> None:
    a, b, bias, start = case(size, seed, dtype)
    a, b = (
        np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2) if turn else x for x, turn in ((a, turn_a), (b, turn_b))
    )
    assert_close(product(width, a, b), a @ b, dtype)
    assert_close(product(width, a, b, bias), a @ b + bias, dtype)
    assert_close(product(width, a, b, start=start), a @ b + start, dtype)


@in_both_precisions
@on_every_width
@pytest.mark.parametrize("size", LARGE)
def test_the_product_of_large_matrices_is_that_of_numpy(width: str, dtype: Any, size: tuple[int, ...]) -> None:
    a, b, bias, start = case(size, 0, dtype)
    assert_close(product(width, a, b, bias), a @ b + bias, dtype)
    assert_close(product(width, a, b, start=start), a @ b + start, dtype)


@on_every_width
def test_a_row_is_the_same_alone_and_among_others(width: str) -> None:
    a, b, bias, _ = case((1, 300, 300, 330), 0, np.float32)
    whole = product(width, a, b, bias)
    for row in (0, 11, 12, 299):
        np.testing.assert_array_equal(product(width, a[:, row : row + 1], b, bias)[:, 0], whole[:, row])


@on_every_width
def test_only_the_columns_of_the_result_are_written(width: str) -> None:
    a, b, _, _ = case((2, 13, 5, 37), 0, np.float32)
    c = np.full((2, 13, 50), 7, np.float32)
    with forced(width):
        native = library.native(a.dtype)
    assert native is not None
    matmul_into(native, a, b, c[:, :, 4:41], threads=1)
    assert_close(c[:, :, 4:41], a @ b, np.float32)
    assert (c[:, :, :4] == 7).all()
    assert (c[:, :, 41:] == 7).all()


@pytest.mark.parametrize("choice", ["reference", *library.available()])
@pytest.mark.parametrize("of_rows", [False, True])
def test_a_product_that_is_added_has_the_gradients_of_its_parts(choice: str, of_rows: bool) -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(*([2, 5] if of_rows else []), 6), torch.randn(2, 5, 3), torch.randn(6, 12)[:, ::4]]
    inputs = [x.double() for x in inputs]
    with forced(choice):
        results = result_and_gradients(add_product, inputs)
    expected = result_and_gradients(lambda start, x, weight: start + x @ weight.mT, inputs)
    for a, b in zip(results, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("choice", ["reference", *library.available()])
def test_a_product_of_matrices_is_written_or_added(choice: str) -> None:
    torch.manual_seed(0)
    a, b, bias = torch.randn(4, 3), torch.randn(6, 10)[::2, ::2], torch.randn(5)
    out = torch.full((4, 9), 7.0)
    with forced(choice):
        product_into(out[:, 2:7], a, b, bias)
        product_into(out[:, 2:7], a, b, add=True)
    torch.testing.assert_close(out[:, 2:7], 2 * a @ b + bias)
    assert (out[:, :2] == 7).all()
    assert (out[:, 7:] == 7).all()


@on_every_width
@settings(max_examples=20, deadline=None)
@given(sizes, st.integers(0, 10**6), st.booleans(), st.booleans())
def test_linear_and_matmul_have_the_results_and_gradients_of_pytorch(
    width: str, size: tuple[int, ...], seed: int, turned: bool, biased: bool
) -> None:
    a, b, bias, _ = map(torch.from_numpy, case(size, seed, np.float32))
    a = a.mT.contiguous().mT if turned else a
    weight = b[0].mT if len(b) else torch.zeros(size[3], size[2])
    inputs = [a, weight, bias] if biased else [a, weight]
    with forced(width), pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "LARGE", 0)
        patch.setattr(products, "LARGE_OF_BATCH", 0)
        found = [
            *result_and_gradients(linear, inputs),
            *result_and_gradients(matmul, [a, b] if len(a) else [bias, bias]),
        ]
    expected = [
        *result_and_gradients(F.linear, inputs),
        *result_and_gradients(torch.matmul, [a, b] if len(a) else [bias, bias]),
    ]
    for x, y in zip(found, expected, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-3)


def test_the_weights_of_a_frozen_layer_get_no_gradient() -> None:
    x, weight = torch.randn(40, 300, requires_grad=True), torch.randn(200, 300)
    linear(x, weight).sum().backward()
    assert weight.grad is None
    assert x.grad is not None
    torch.testing.assert_close(x.grad, weight.sum(0).expand(40, -1))
