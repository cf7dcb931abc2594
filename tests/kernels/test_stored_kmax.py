"""The function stored_kmax, compared with a slow loop in float64."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.forcing import WIDTHS, forced, on_every_width, on_reference_and_native, threads
from pairlight.core.errors import InputError
from pairlight.kernels.native.head import Head
from pairlight.kernels.native.stored_kmax import StoredRows, stored_kmax

Array = NDArray[Any]
DTYPES = ("float32", "float16", "int8")
TOLERANCE = {"float32": 2e-6, "float16": 2e-6, "int8": 2e-4}
sizes = st.tuples(*(st.integers(1, most) for most in (6, 25, 40, 3, 24)))  # texts, L, R, C, D of a part


def head(features: int, hidden: int, seed: int) -> Head:
    g = np.random.default_rng(seed)
    arrays = (
        g.standard_normal(shape).astype(np.float32) for shape in ((features,), (hidden, features), hidden, hidden)
    )
    linear, *network = arrays
    return Head(linear, 0.5, *network)


def stored(size: tuple[int, ...], parts: int, dtype: str, seed: int, factors: bool = True) -> tuple[StoredRows, Array]:
    """Texts of different lengths, and a left text."""
    texts, L, R, C, D = size
    g = np.random.default_rng(seed)
    start = np.concatenate([[0], np.cumsum(g.integers(1, R + 1, texts))])
    x = g.standard_normal((int(start[-1]), parts * D)).astype(np.float32)
    scale = (np.abs(x).max(1) / 127).astype(np.float32) if dtype == "int8" else None
    x = (x if scale is None else np.rint(x / scale[:, None])).astype(dtype)
    given = g.random((len(x), parts)).astype(np.float32) if factors or parts > 1 else None
    return StoredRows(x, start, scale, given), g.standard_normal((parts, L, C, D)).astype(np.float32)


def by_definition(rows: StoredRows, u: Array, k: int, layers: Head, offset: Array | None, relu: bool) -> Array:
    """The score of each text cell by cell, in float64."""
    parts, L, C, D = u.shape
    scores = []
    for first, end in zip(rows.start[:-1], rows.start[1:], strict=True):
        q: list[float] = []
        for part in range(parts):
            for c in range(C):
                cells = []
                for j in range(first, end):
                    times = rows.factors[j, part] if rows.factors is not None else 1.0
                    times = times if rows.factors is not None or rows.scale is None else rows.scale[j]
                    for i in range(L):
                        s = float(u[part, i, c].astype(np.float64) @ rows.x[j, part * D : (part + 1) * D]) * float(
                            times
                        )
                        s += 0.0 if offset is None else float(offset[part, i, c])
                        cells.append(max(s, 0.0) if relu else s)
                largest = sorted(cells, reverse=True)[:k]
                q += [*largest, *[0.0] * (k - len(largest))]
        h = np.maximum(layers.hidden.astype(np.float64) @ q + layers.bias, 0)
        scores.append(layers.linear.astype(np.float64) @ q + layers.constant + layers.out @ h)
    return np.array(scores)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("choice", ["reference", *WIDTHS])
@settings(max_examples=15, deadline=None)
@given(sizes, st.sampled_from([1, 2]), st.integers(0, 10**6), st.sampled_from([1, 3, 5, 60]), st.booleans())
def test_the_scores_are_those_of_a_loop_over_cells(
    choice: str, dtype: str, size: tuple[int, ...], parts: int, seed: int, k: int, plain: bool
) -> None:
    rows, u = stored(size, parts, dtype, seed, factors=not plain)
    layers = head(parts * size[3] * k, 0 if plain else 7, seed)
    offset = None if plain else np.random.default_rng(seed).standard_normal(u.shape[:3]).astype(np.float32)
    expected = by_definition(rows, u, k, layers, offset, relu=not plain)
    with forced(choice):
        found = stored_kmax(rows, u, k, layers, offset=offset, relu=not plain)
    assert found.dtype == np.float32
    terms = np.abs(layers.linear).sum() + np.abs(layers.hidden).sum() * (np.abs(layers.out).max(initial=0) + 1)
    size_of_cells = np.abs(u).max() * size[4] * 4
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[dtype] * terms * size_of_cells)


@on_every_width
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_text_has_the_same_bits_among_any_texts_and_with_any_number_of_threads(width: str, dtype: str) -> None:
    rows, u = stored((200, 10, 30, 4, 100), 1, dtype, 3)
    layers, base = head(20, 50, 1), np.random.default_rng(0).random(200).astype(np.float32)
    chosen = np.array([150, 3, 3, 199, 0])
    with forced(width):
        with threads(1):
            one = stored_kmax(rows, u, 5, layers, relu=True, base=base)
        with threads(2):
            two = stored_kmax(rows, u, 5, layers, relu=True, base=base)
            some = stored_kmax(rows, u, 5, layers, relu=True, base=base[chosen], texts=chosen)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(some, one[chosen])
    assert len(np.unique(one)) > 190


@on_reference_and_native
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_row_that_is_not_a_number_gives_a_score_that_is_none(choice: str, dtype: str) -> None:
    rows, u = stored((4, 9, 12, 2, 8), 1, dtype, 3)
    rows.x[rows.start[1], 0] = np.nan
    with forced(choice):
        found = stored_kmax(rows, u, 5, head(10, 3, 1))
    assert np.isnan(found).tolist() == [False, True, False, False]


@on_every_width
def test_half_precision_has_all_its_numbers(width: str) -> None:
    x = np.arange(2**16, dtype=np.uint32).astype(np.uint16).view(np.float16)
    x = x[np.isfinite(x)][:, None]
    rows = StoredRows(np.repeat(x, 17, 1), np.arange(len(x) + 1))
    u = np.zeros((1, 1, 1, 17), np.float32)
    u[..., 16] = u[..., 3] = 0.5
    with forced(width):
        found = stored_kmax(rows, u, 1, Head.of(np.ones(1, np.float32), 0.0))
    np.testing.assert_array_equal(found, x[:, 0].astype(np.float32))


@on_reference_and_native
def test_texts_outside_of_the_rows_are_refused(choice: str) -> None:
    rows, u = stored((4, 9, 12, 2, 8), 1, "float32", 3)
    layers = head(10, 3, 1)
    with forced(choice):
        for start in ([0, 2, 10**6], [-5, 2], [0, 5, 2, 7]):
            with pytest.raises(InputError, match="The stored texts are damaged"):
                stored_kmax(rows._replace(start=np.array(start)), u, 5, layers)
        for texts in ([4], [-1]):
            with pytest.raises(InputError, match="texts has values from"):
                stored_kmax(rows, u, 5, layers, texts=np.array(texts))
        assert stored_kmax(rows, u, 5, layers, texts=np.zeros(0, int)).shape == (0,)


def test_arguments_that_do_not_fit_are_refused() -> None:
    rows, u = stored((4, 9, 12, 2, 8), 1, "int8", 3)
    layers = head(10, 3, 1)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"rows": rows._replace(scale=None)}, "int8 rows have a scale"),
        ({"rows": rows._replace(scale=rows.scale[1:])}, "scale has shape"),
        ({"rows": rows._replace(factors=rows.factors[1:])}, "factors has shape"),
        ({"rows": rows._replace(x=rows.x[:, 1:])}, "x has shape"),
        ({"rows": rows._replace(x=rows.x.astype(np.int16))}, "x has dtype int16"),
        ({"rows": rows._replace(start=rows.start.astype(np.int32))}, "start is not"),
        ({"u": u[0]}, "u has 3 dimensions"),
        ({"u": u.astype(np.float64)}, "float64"),
        ({"k": 0}, "k is 0"),
        ({"k": 4}, "linear has shape"),
        ({"head": layers._replace(out=layers.out[1:])}, "out has shape"),
        ({"offset": np.zeros((1, 9, 3), np.float32)}, "offset has shape"),
        ({"base": np.zeros(3, np.float32)}, "base has shape"),
    ]
    for change, message in wrong:
        with pytest.raises(InputError, match=message):
            stored_kmax(**({"rows": rows, "u": u, "k": 5, "head": layers} | change))


@given(st.integers(0, 10**6), st.integers(0, 9))
def test_no_features_within_limits_have_a_score_above_the_bound(seed: int, hidden: int) -> None:
    layers, g = head(6, hidden, seed), np.random.default_rng(seed)
    low = g.standard_normal(6)
    high = low + g.exponential(size=6)
    f = (low + (high - low) * g.random((200, 6)).round()).astype(np.float32)
    assert layers.score(f).max() <= layers.bound(low, high)
    assert layers.bound(low, low) == pytest.approx(layers.score(low[None].astype(np.float32))[0], abs=1e-3)
