"""Texts that come again are read once, and no score changes by it."""

import numpy as np
import pytest

from models.toy import CASES, corpus, ready
from pairlight.models import MODELS, scoring
from pairlight.models.base import DualEncoder
from pairlight.inference.scoring import score_pairs

APART = "dssm", "cdssm", "arc-i", "cntn", "multigran-cnn", "lstm-rnn", "bi-lstm-rnn", "mv-lstm", "amv-lstm", "urae"
one_each = pytest.mark.parametrize("case", {case.name: case for case in CASES if case.name in APART}.values(), ids=str)
two_kinds = pytest.mark.parametrize("case", [case for case in CASES if case.name in ("mv-lstm", "dssm")], ids=str)
rng = np.random.default_rng(0)
LEFT = np.repeat(np.arange(4), 3)
RIGHT = np.concatenate([rng.choice(np.arange(20, 26), 3, replace=False) for _ in range(4)])
ONCE = np.arange(30, 42)


def alone(model, encoded, left, right):
    return np.concatenate([score_pairs(model, encoded, left[[i]], right[[i]]) for i in range(len(left))])


@one_each
def test_a_text_that_comes_again_scores_as_when_it_stands_alone(case, monkeypatch):
    model = ready(case).float()
    encoded, _ = corpus(model)
    for left, right in ((LEFT, ONCE), (ONCE, LEFT), (LEFT, RIGHT)):
        expected = alone(model, encoded, left, right)
        np.testing.assert_allclose(score_pairs(model, encoded, left, right), expected, rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(scoring, "HELD", 40)
    monkeypatch.setattr(scoring, "PAIRS", 5)
    np.testing.assert_allclose(score_pairs(model, encoded, LEFT, RIGHT), expected, rtol=1e-4, atol=1e-5)


@two_kinds
def test_each_distinct_text_of_a_side_is_read_once(case, monkeypatch):
    model = ready(case)
    encoded, _ = corpus(model)
    read: dict[str, list[int]] = {"left": [], "right": []}
    for side in read:
        was = getattr(model, side)
        monkeypatch.setattr(
            model, side, lambda tokens, was=was, side=side: read[side].append(len(tokens.ids)) or was(tokens)
        )
    score_pairs(model, encoded, LEFT, RIGHT)
    assert {side: sum(counts) for side, counts in read.items()} == {"left": 4, "right": len(np.unique(RIGHT))}


def test_a_batch_of_long_texts_holds_fewer_pairs_and_one_of_short_texts_as_many_as_ever():
    lengths = np.repeat([4, 50, 500], 512)
    sizes = [(len(some), int(lengths[some].max())) for some in scoring._batches(lengths, lengths)]
    assert sum(count for count, _ in sizes) == len(lengths)
    assert all(count * longest**2 <= scoring.CELLS for count, longest in sizes)
    assert [count for count, longest in sizes if longest <= 50] == [256] * 4
    assert scoring.fitting([np.array([10_000]), np.array([10_000])], scoring.CELLS) == 1


@one_each
def test_scores_do_not_depend_on_where_a_batch_ends(case, monkeypatch):
    model = ready(case)
    encoded, _ = corpus(model)
    expected = [score_pairs(model, encoded, *sides) for sides in ((LEFT, RIGHT), (ONCE, RIGHT))]
    monkeypatch.setattr(scoring, "CELLS", 100)
    for sides, scores in zip(((LEFT, RIGHT), (ONCE, RIGHT)), expected, strict=True):
        np.testing.assert_allclose(score_pairs(model, encoded, *sides), scores, rtol=1e-5, atol=1e-6)


def test_a_stretch_of_pairs_holds_few_words(monkeypatch):
    monkeypatch.setattr(scoring, "HELD", 100)
    monkeypatch.setattr(scoring, "PAIRS", 4)
    lengths, side = np.full(1000, 10), np.arange(1000)
    found = list(scoring._stretches(lengths, [side], 1000))
    assert [i for each in found for i in range(each.start, each.stop)] == list(range(1000))
    assert max(each.stop - each.start for each in found) == 8
    assert list(scoring._stretches(lengths, [side * 0], 1000)) == [slice(0, 1000)]


def test_the_models_that_read_their_texts_apart_are_known():
    assert {name for name, kind in MODELS.items() if issubclass(kind, DualEncoder)} == set(APART)
