"""Texts that occur several times are texts once, and no score changes by it."""

import numpy as np
import pytest

from models.toy import CASES, corpus, ready
from pairlight.inference import scoring
from pairlight.inference.scoring import score_pairs
from pairlight.models import MODELS, model_class
from pairlight.models.base import DualEncoder

DUAL_ENCODERS = [name for name in MODELS if issubclass(model_class(name), DualEncoder)]
one_each = pytest.mark.parametrize(
    "case", {case.name: case for case in CASES if case.name in DUAL_ENCODERS}.values(), ids=str
)
two_kinds = pytest.mark.parametrize("case", [case for case in CASES if case.name in ("mv-lstm", "dssm")], ids=str)
rng = np.random.default_rng(0)
LEFT = np.repeat(np.arange(4), 3)
RIGHT = np.concatenate([rng.choice(np.arange(20, 26), 3, replace=False) for _ in range(4)])
ONCE = np.arange(30, 42)


def alone(model, texts, left, right):
    return np.concatenate([score_pairs(model, texts, left[[i]], right[[i]]) for i in range(len(left))])


@one_each
def test_a_repeated_text_scores_as_it_does_alone(case, monkeypatch):
    model = ready(case).convert(lambda array: array.float() if array.is_floating_point() else array)
    texts, _ = corpus(model)
    for left, right in ((LEFT, ONCE), (ONCE, LEFT), (LEFT, RIGHT)):
        expected = alone(model, texts, left, right)
        np.testing.assert_allclose(score_pairs(model, texts, left, right), expected, rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(scoring, "MAX_ENCODED", 40)
    monkeypatch.setattr(scoring, "MIN_PAIRS", 5)
    np.testing.assert_allclose(score_pairs(model, texts, LEFT, RIGHT), expected, rtol=1e-4, atol=1e-5)


@two_kinds
def test_each_distinct_text_of_a_side_is_texts_once(case, monkeypatch):
    model = ready(case)
    texts, _ = corpus(model)
    counts: dict[str, list[int]] = {"encode_left": [], "encode_right": []}
    for side in counts:
        was = getattr(model, side)
        monkeypatch.setattr(
            model, side, lambda tokens, was=was, side=side: counts[side].append(len(tokens.ids)) or was(tokens)
        )
    score_pairs(model, texts, LEFT, RIGHT)
    assert [sum(each) for each in counts.values()] == [4, len(np.unique(RIGHT))]


def test_a_batch_of_long_texts_has_fewer_pairs():
    lengths = np.repeat([4, 50, 500], 512)
    sizes = [(len(some), int(lengths[some].max())) for some in scoring._batches(lengths, lengths)]
    assert sum(count for count, _ in sizes) == len(lengths)
    assert all(count * longest**2 <= scoring.MAX_CELLS for count, longest in sizes)
    assert [count for count, longest in sizes if longest <= 50] == [256] * 4
    assert scoring.count_fitting([np.array([10_000]), np.array([10_000])], scoring.MAX_CELLS) == 1


@one_each
def test_scores_do_not_depend_on_where_a_batch_ends(case, monkeypatch):
    model = ready(case)
    texts, _ = corpus(model)
    expected = [score_pairs(model, texts, *sides) for sides in ((LEFT, RIGHT), (ONCE, RIGHT))]
    monkeypatch.setattr(scoring, "MAX_CELLS", 100)
    for sides, scores in zip(((LEFT, RIGHT), (ONCE, RIGHT)), expected, strict=True):
        np.testing.assert_allclose(score_pairs(model, texts, *sides), scores, rtol=1e-5, atol=1e-6)


def test_a_block_of_pairs_has_a_bounded_number_of_words(monkeypatch):
    monkeypatch.setattr(scoring, "MAX_ENCODED", 100)
    monkeypatch.setattr(scoring, "MIN_PAIRS", 4)
    lengths, side = np.full(1000, 10), np.arange(1000)
    found = list(scoring._blocks(lengths, [side], 1000))
    assert [i for each in found for i in range(each.start, each.stop)] == list(range(1000))
    assert max(each.stop - each.start for each in found) == 8
    assert list(scoring._blocks(lengths, [side * 0], 1000)) == [slice(0, 1000)]
