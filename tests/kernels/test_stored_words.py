"""The scores of stored words, compared with the features of pairs and the layers after them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.forcing import WIDTHS, forced, on_every_width, threads
from kernels.test_pair_features import AVERAGE, by_definition, table
from kernels.test_stored_kmax import head
from pairlight.core.errors import InputError
from pairlight.kernels.native.head import Head
from pairlight.kernels.native.stored_words import StoredWords, WordScorer, text_products

sizes = st.tuples(*(st.integers(1, most) for most in (20, 40, 40, 80)))  # texts, L, R, D


def case(size: tuple[int, ...], k: int, seed: int, words: int = 30) -> tuple[WordScorer, np.ndarray]:
    """A scorer of texts of few distinct words, and the features of all pairs."""
    texts, L, R, D = size
    g = np.random.default_rng(seed)
    lengths = g.integers(1, R + 1, texts)
    start, ids = np.concatenate([[0], np.cumsum(lengths)]), g.integers(0, words, lengths.sum()).astype(np.int32)
    left, of = g.integers(0, words, L), table(words, D, words - 5, seed)
    padded = np.full((texts, R), -1, np.int64)
    padded[np.arange(R) < lengths[:, None]] = ids
    f = by_definition(of, left[None], padded, np.array([L]), lengths, AVERAGE, k)
    stored = StoredWords(ids, start, np.unique(ids), text_products(of, ids, start))
    return WordScorer(of, left, stored, AVERAGE, k, head(9 + k, seed % 3 * 8, seed)), f


@pytest.mark.parametrize("choice", ["reference", *WIDTHS])
@settings(max_examples=25, deadline=None)
@given(sizes, st.integers(0, 10**6), st.sampled_from([0, 1, 10, 50]))
def test_the_scores_are_those_of_the_features(choice: str, size: tuple[int, ...], seed: int, k: int) -> None:
    with forced(choice):
        scorer, f = case(size, k, seed)
        found = scorer.scores()
    layers = scorer.head
    double = Head(*(x if isinstance(x, float) else x.astype(np.float64) for x in layers))
    size_of_terms = 1 + np.abs(layers.linear).sum() + (np.abs(layers.out) @ np.abs(layers.hidden)).sum()
    np.testing.assert_allclose(found, double.score(f), rtol=0, atol=2e-6 * size_of_terms)


@on_every_width
def test_a_text_has_the_same_bits_among_any_texts_and_with_any_number_of_threads(width: str) -> None:
    with forced(width):
        scorer, _ = case((300, 20, 40, 64), 10, 2, words=500)
        with threads(1):
            one = scorer.scores()
        with threads(2):
            again = WordScorer(scorer.table, scorer.left_ids, scorer.stored, AVERAGE, 10, scorer.head)
            np.testing.assert_array_equal(again.scores(), one)
            chosen = np.array([299, 7, 7, 0])
            np.testing.assert_array_equal(again.scores(chosen), one[chosen])
    assert len(np.unique(one)) == 300


@pytest.mark.parametrize("choice", ["reference", *WIDTHS])
def test_words_and_texts_that_are_not_there_are_refused(choice: str) -> None:
    with forced(choice):
        scorer, _ = case((5, 4, 9, 8), 3, 1)
        stored = scorer.stored

        def scores(left: Any = scorer.left_ids, **changes: Any) -> Any:
            return WordScorer(scorer.table, left, stored._replace(**changes), AVERAGE, 3, scorer.head).scores()

        outside = stored.ids.copy()
        outside[3] = 30
        for wrong in (outside, -outside):
            with pytest.raises(InputError, match="not in the table"):
                scores(ids=wrong)  # not among the distinct words
            with pytest.raises(InputError, match="not in the table"):
                scores(ids=wrong, distinct=np.unique(wrong))
            with pytest.raises(InputError, match="not in the table"):
                text_products(scorer.table, wrong, stored.start)
        with pytest.raises(InputError, match="not in the table"):
            scores(np.array([30]))
        for start in ([0, 2, 10**6, 10**6, 10**6, 10**6], [0, 5, 2, 7, 8, 9]):
            with pytest.raises(InputError, match="The stored texts are damaged"):
                scores(start=np.array(start))
        with pytest.raises(InputError, match="products has shape"):
            scores(products=stored.products[1:])
        with pytest.raises(InputError, match="linear has shape"):
            WordScorer(scorer.table, scorer.left_ids, stored, AVERAGE, 4, scorer.head)
