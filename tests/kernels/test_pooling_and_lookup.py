"""The functions segment_max, embedding_sums and distances, compared with their reference implementations."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.forcing import (
    forced,
    in_both_precisions,
    layouts,
    on_every_width,
    on_reference_and_native,
    result_and_gradients,
    threads,
)
from pairlight.core.errors import InputError
from pairlight.kernels.autograd import segment_max as autograd
from pairlight.kernels.native.distances import distances
from pairlight.kernels.native.embedding_sums import embedding_sums
from pairlight.kernels.native.segment_max import segment_max

Array = NDArray[Any]
seeds = st.integers(0, 10**6)


def numbers(*most: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*(st.integers(1, each) for each in most))


@in_both_precisions
@on_every_width
@settings(max_examples=30, deadline=None)
@given(numbers(3, 4, 20, 40), numbers(6, 4, 6, 9), seeds, st.booleans())
def test_the_largest_cells_of_segments_are_those_of_the_reference(
    width: str, dtype: Any, size: tuple[int, ...], segments: tuple[int, ...], seed: int, broken: bool
) -> None:
    g = np.random.default_rng(seed)
    x = g.normal(size=size).astype(dtype)
    if broken:
        x[g.random(size) < 0.2] = np.nan
    P, W, Q, V = segments
    i, j = g.integers(0, size[2], (size[0], P, W)), g.integers(0, size[3], (size[0], Q, V))
    with forced(width), threads(2):
        found = segment_max(x, i, j)
    with forced("reference"):
        np.testing.assert_array_equal(found, segment_max(x, i, j), strict=True)


@in_both_precisions
@on_every_width
@settings(max_examples=30, deadline=None)
@given(numbers(3, 4, 20, 40), numbers(6, 4, 6, 9), seeds, st.booleans())
def test_the_gradient_of_a_segment_goes_to_its_first_largest_cell(
    width: str, dtype: Any, size: tuple[int, ...], segments: tuple[int, ...], seed: int, equal: bool
) -> None:
    g = np.random.default_rng(seed)
    x = torch.from_numpy((g.integers(0, 3, size) if equal else g.normal(size=size)).astype(dtype))
    P, W, Q, V = segments
    i, j = (torch.from_numpy(g.integers(0, n, s)) for n, s in ((size[2], (size[0], P, W)), (size[3], (size[0], Q, V))))
    with forced(width), threads(2):
        found = result_and_gradients(lambda a: autograd.segment_max(a.mT, i, j), [x.mT])
    with forced("reference"):
        expected = result_and_gradients(lambda a: autograd.segment_max(a.mT, i, j), [x.mT])
    assert torch.equal(found[0], expected[0])
    torch.testing.assert_close(found[1], expected[1])


@in_both_precisions
@on_every_width
@settings(max_examples=30, deadline=None)
@given(numbers(30, 300, 150, 12), seeds)
def test_sums_of_rows_are_those_of_the_reference(width: str, dtype: Any, size: tuple[int, ...], seed: int) -> None:
    rows, dim, count, most = size
    g = np.random.default_rng(seed)
    table, ids = g.normal(size=(rows, dim)).astype(dtype), g.integers(0, rows, (count, most))
    table[0] = np.nan  # padding is never read
    with forced(width), threads(2):
        found = embedding_sums(table, ids, 0)
    with forced("reference"):
        expected = embedding_sums(table, ids, 0)
    np.testing.assert_array_equal(found, expected, strict=True)
    assert not np.isnan(found).any()


@on_every_width
@pytest.mark.parametrize("wrong", [-1, 5, 2**31 - 1])
def test_an_id_outside_of_the_table_is_an_error(width: str, wrong: int) -> None:
    ids = np.array([[1, 2, 0], [4, wrong, 0]])
    with forced(width), pytest.raises(InputError, match="not in the table"):
        embedding_sums(np.ones((5, 3), np.float32), ids, 0)


@in_both_precisions
@on_every_width
@settings(max_examples=30, deadline=None)
@given(numbers(3, 30, 70, 40), seeds)
def test_distances_are_those_of_the_reference(width: str, dtype: Any, size: tuple[int, ...], seed: int) -> None:
    B, L, R, D = size
    g = np.random.default_rng(seed)
    u, v = (g.normal(size=(B, n, D)).astype(dtype) for n in (L, R))
    v[:, 0] = u[:, 0]
    with forced(width), threads(2):
        found = distances(u, v)
    with forced("reference"):
        expected = distances(u, v)
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-13)
    assert (found[:, 0, 0] == 0).all()


@on_reference_and_native
def test_the_memory_layout_does_not_change_the_results(choice: str) -> None:
    g = np.random.default_rng(0)
    x, i, j = g.normal(size=(2, 3, 5, 7)), g.integers(0, 5, (2, 3, 2)), g.integers(0, 7, (2, 2, 4))
    with forced(choice):
        for other in layouts(x):
            np.testing.assert_array_equal(segment_max(other, i, j), segment_max(x, i, j))
            np.testing.assert_array_equal(distances(other[0], other[1]), distances(x[0], x[1]))
            np.testing.assert_array_equal(
                embedding_sums(other[0, 0], i[0], 0), embedding_sums(x[0, 0], i[0], 0), strict=True
            )


@on_reference_and_native
def test_wrong_shapes_are_named(choice: str) -> None:
    with (
        forced(choice),
        pytest.raises(InputError, match=r"v has shape \[2, 4, 5\]: pass an array of shape \[2, 4, 3\]"),
    ):
        distances(np.zeros((2, 6, 3)), np.zeros((2, 4, 5)))
