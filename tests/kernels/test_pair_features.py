"""The function pair_features on NumPy arrays and PyTorch tensors, compared with a slow loop in float64."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.forcing import WIDTHS, forced, layouts, on_every_width, on_reference_and_native, threads
from pairlight.core.errors import InputError
from pairlight.kernels.autograd import pair_features as autograd
from pairlight.kernels.native.pair_features import K1, B, WordTable, pair_features

Array = NDArray[Any]
AVERAGE = 7.5
sizes = st.tuples(*(st.integers(1, most) for most in (3, 20, 40, 40, 80)))  # lefts, times, L, R, D


def table(words: int, dim: int, weights: int, seed: int, dtype: Any = np.float32) -> WordTable:
    """Random vectors, of which one is empty."""
    g = np.random.default_rng(seed)
    x = g.standard_normal((words, dim))
    x[words // 2] = 0
    norms = np.maximum(np.linalg.norm(x, axis=1), 1e-8)
    return WordTable(*(each.astype(dtype) for each in (x / norms[:, None], norms, g.random(weights) + 0.1)))


def case(size: tuple[int, ...], seed: int, words: int = 30, least: int = 1) -> list[Any]:
    """The table and texts of few distinct words; the ids of padding are not in the table."""
    lefts, times, L, R, D = size
    g = np.random.default_rng(seed)
    left, right = g.integers(least, L + 1, lefts), g.integers(least, R + 1, lefts * times)
    left[0], right[0] = L, R
    left_ids, right_ids = g.integers(0, words, (lefts, L)), g.integers(0, words, (lefts * times, R))
    left_ids[np.arange(L) >= left[:, None]] = 2**40
    right_ids[np.arange(R) >= right[:, None]] = -7
    return [table(words, D, words - 5, seed), left_ids, right_ids, left, right]


def by_definition(
    words: WordTable, left_ids: Array, right_ids: Array, left: Array, right: Array, average: float, k: int
) -> Array:
    """The features word by word, in float64."""
    units, norms, weights = (each.astype(np.float64) for each in words)
    rows = []
    for pair, ids in enumerate(right_ids.tolist()):
        at = pair % len(left_ids)
        x, y = left_ids[at, : left[at]].tolist(), ids[: right[pair]]
        r, q = ([weights[word if word < len(weights) else 0] for word in text] for text in (x, y))
        s = np.array([[units[a] @ units[b] for b in y] for a in x])
        sums = [sum(norms[a] * units[a] for a in text) for text in (x, y)]
        weighted = [
            sum(w * norms[a] * units[a] for a, w in zip(text, of, strict=True)) for text, of in ((x, r), (y, q))
        ]
        tf = [y.count(a) for a in x]
        scale = K1 * (1 - B + B * len(y) / average)
        f = [
            *(a @ b / max(np.linalg.norm(a), 1e-8) / max(np.linalg.norm(b), 1e-8) for a, b in (sums, weighted)),
            sum(w * s[i].max() for i, w in enumerate(r)) / sum(r),
            sum(w * s[:, j].max() for j, w in enumerate(q)) / sum(q),
            sum(w for w, a in zip(r, x, strict=True) if a in y) / sum(r),
            sum(w for w, b in zip(q, y, strict=True) if b in x) / sum(q),
            sum(w * n / (n + scale) for w, n in zip(r, tf, strict=True)) / sum(r),
            math.log(1 + len(x)),
            math.log(1 + len(y)),
        ]
        largest = sorted(s.ravel().tolist(), reverse=True)[:k]
        rows.append([*f, *largest, *[0] * (k - len(largest))])
    return np.array(rows)


def on_tensors(words: WordTable, *rest: Any) -> torch.Tensor:
    return autograd.pair_features(
        WordTable(*map(torch.from_numpy, words)),
        *(torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in rest),
    )


@pytest.mark.parametrize("choice", ["reference", *WIDTHS])
@settings(max_examples=25, deadline=None)
@given(sizes, st.integers(0, 10**6), st.sampled_from([0, 1, 10, 50, 2000]))
def test_the_features_are_those_of_a_loop_over_words(choice: str, size: tuple[int, ...], seed: int, k: int) -> None:
    arguments = [*case(size, seed), AVERAGE, k]
    expected = by_definition(*arguments)
    with forced(choice):
        found, tensor = pair_features(*arguments), on_tensors(*arguments)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("choice", ["reference", *WIDTHS])
@pytest.mark.parametrize(("L", "R"), [(1, 1), (1, 200), (200, 1), (16, 17), (33, 48), (200, 200)])
def test_texts_of_up_to_200_words_with_vectors_as_long_as_those_of_models(choice: str, L: int, R: int) -> None:
    arguments = [*case((2, 2, L, R, 256), L + R, words=500), AVERAGE, 10]
    with forced(choice):
        np.testing.assert_allclose(pair_features(*arguments), by_definition(*arguments), rtol=0, atol=1e-5)


@pytest.mark.parametrize("choice", ["reference", WIDTHS[0]])
def test_double_precision_uses_the_reference(choice: str) -> None:
    words, *rest = case((2, 3, 9, 11, 21), 4)
    arguments = [WordTable(*(x.astype(np.float64) for x in words)), *rest, AVERAGE, 6]
    with forced(choice):
        np.testing.assert_allclose(pair_features(*arguments), by_definition(*arguments), rtol=0, atol=1e-12)
        np.testing.assert_allclose(on_tensors(*arguments).numpy(), by_definition(*arguments), rtol=0, atol=1e-12)


@on_every_width
def test_a_pair_has_the_same_bits_in_any_batch_and_with_any_number_of_threads(width: str) -> None:
    for size in ((1, 300, 30, 40, 64), (50, 2, 9, 17, 33), (3, 100, 40, 90, 16)):
        words, left_ids, right_ids, left, right = case(size, 2, words=2000)
        with forced(width):
            with threads(1):
                one = pair_features(words, left_ids, right_ids, left, right, AVERAGE, 10)
            with threads(2):
                np.testing.assert_array_equal(pair_features(words, left_ids, right_ids, left, right, AVERAGE, 10), one)
                tensor = on_tensors(words, left_ids, right_ids, left, right, AVERAGE, 10)
            np.testing.assert_array_equal(tensor.numpy(), one)
            for pair in range(0, len(right), 7):
                at, own = slice(pair % len(left), pair % len(left) + 1), slice(pair, pair + 1)
                alone = left_ids[at, : left[at][0]], right_ids[own, : right[pair]], left[at], right[own]
                np.testing.assert_array_equal(pair_features(words, *alone, AVERAGE, 10)[0], one[pair])


@on_every_width
def test_more_distinct_words_than_are_kept_at_a_time(width: str) -> None:
    arguments = [*case((1, 40, 200, 200, 8), 3, words=20_000), AVERAGE, 10]
    with forced(width):
        found = pair_features(*arguments)
    some = [*arguments[:2], arguments[2][::9], arguments[3], arguments[4][::9], AVERAGE, 10]
    np.testing.assert_allclose(found[::9], by_definition(*some), rtol=0, atol=1e-5)


@on_reference_and_native
def test_the_memory_layout_does_not_change_the_result(choice: str) -> None:
    words, *texts = case((2, 3, 5, 9, 12), 1)
    with forced(choice):
        expected = pair_features(words, *texts, AVERAGE, 3)
        for arrays in zip(*map(layouts, (*words, *texts)), strict=True):
            found = pair_features(WordTable(*arrays[:3]), *arrays[3:], AVERAGE, 3)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@on_reference_and_native
def test_texts_without_words_have_no_average_and_no_cells(choice: str) -> None:
    words, left_ids, right_ids, left, right = case((2, 2, 4, 5, 6), 0)
    with forced(choice):
        assert pair_features(words, left_ids[:0], right_ids[:0], left[:0], right[:0], AVERAGE, 2).shape == (0, 11)
        for m, n in ((0, 1), (1, 0), (0, 0)):
            for run in (pair_features, on_tensors):
                found = np.asarray(run(words, left_ids, right_ids, m * left, n * right, AVERAGE, 2))
                assert not found[:, [0, 1, 9, 10]].any()
                assert (np.isnan(found[:, 2]) == (m == 0)).all()
                assert (np.isnan(found[:, 3]) == (n == 0)).all()


@on_reference_and_native
@pytest.mark.parametrize("wrong", [30, -1, 2**40])
def test_a_word_outside_of_the_table_is_an_input_error(choice: str, wrong: int) -> None:
    for side in (1, 2):
        arguments = [*case((1, 3, 4, 5, 6), 0), AVERAGE, 2]
        arguments[side][0, 0] = wrong
        with forced(choice):
            for run in (pair_features, on_tensors):
                with pytest.raises(InputError, match="id that is not in the table of vectors"):
                    run(*arguments)


def test_it_has_no_gradient() -> None:
    words, *texts = case((1, 2, 4, 5, 6), 0)
    leaves = WordTable(*(torch.from_numpy(x).requires_grad_() for x in words))
    assert not autograd.pair_features(leaves, *map(torch.from_numpy, texts), AVERAGE, 2).requires_grad


def test_invalid_arguments_raise_an_input_error() -> None:
    words, left_ids, right_ids, left, right = case((2, 2, 4, 5, 6), 0)
    with pytest.raises(InputError, match="There are 3 right texts for 2 left texts"):
        pair_features(words, left_ids, right_ids[:3], left, right[:3], AVERAGE, 1)
    with pytest.raises(InputError, match=r"norms has shape \[29\]: pass an array of shape \[30\]"):
        pair_features(words._replace(norms=words.norms[1:]), left_ids, right_ids, left, right, AVERAGE, 1)
    with pytest.raises(InputError, match="weights is empty"):
        pair_features(words._replace(weights=words.weights[:0]), left_ids, right_ids, left, right, AVERAGE, 1)
    with pytest.raises(InputError, match="convert both to the same dtype"):
        pair_features(words._replace(norms=words.norms.astype(float)), left_ids, right_ids, left, right, AVERAGE, 1)
    with pytest.raises(InputError, match="k is -1: pass 0 or more"):
        pair_features(words, left_ids, right_ids, left, right, AVERAGE, -1)
    with pytest.raises(InputError, match="left_lengths has values from"):
        pair_features(words, left_ids, right_ids, left + 5, right, AVERAGE, 1)
