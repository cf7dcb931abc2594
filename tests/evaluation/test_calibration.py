"""Calibrated probabilities follow the observed share of positives and never contradict the ranking."""

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from pairlight.core.errors import InputError
from pairlight.evaluation.calibration import Calibration, LabelScale, can_calibrate, fit_calibration, fit_label_scale
from pairlight.evaluation.classification import best_threshold


def logistic_pairs(n: int, slope: float, offset: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.normal(1.0, 2.0, n)
    return scores, rng.random(n) < 1 / (1 + np.exp(-(slope * scores + offset)))


def test_the_curve_that_generated_the_labels_is_recovered():
    fitted = fit_calibration(*logistic_pairs(40_000, 1.7, -0.8))
    assert fitted.slope == pytest.approx(1.7, abs=0.06)
    assert fitted.offset == pytest.approx(-0.8, abs=0.06)
    assert fitted.probability([fitted.threshold]) == pytest.approx([0.5], abs=0.1)


def test_the_probability_is_the_share_of_positives():
    fitted = fit_calibration(*logistic_pairs(40_000, 1.7, -0.8))
    scores, positive = logistic_pairs(40_000, 1.7, -0.8, seed=1)
    p = fitted.probability(scores)
    for low in np.arange(0, 1, 0.1):
        inside = (p >= low) & (p < low + 0.1)
        assert positive[inside].mean() == pytest.approx(p[inside].mean(), abs=0.04)


def test_another_optimizer_finds_the_same_curve():
    scores, labels = logistic_pairs(300, 0.6, 0.3)
    positives = labels.sum()
    target = np.where(labels, (positives + 1) / (positives + 2), 1 / (300 - positives + 2))

    def cross_entropy(w: np.ndarray) -> float:
        p = 1 / (1 + np.exp(-(w[0] * scores + w[1])))
        return -np.mean(target * np.log(p) + (1 - target) * np.log(1 - p))

    found = minimize(cross_entropy, [0, 0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15})
    fitted = fit_calibration(scores, labels)
    assert (fitted.slope, fitted.offset) == pytest.approx(tuple(found.x), rel=1e-6)


def test_separable_scores_have_a_finite_curve_due_to_the_smoothed_targets():
    # With two different scores, their probabilities are Platt's targets, 4/5 and 1/6.
    fitted = fit_calibration([1, 1, 1, -1, -1, -1, -1], [1, 1, 1, 0, 0, 0, 0])
    assert fitted.probability([1, -1]) == pytest.approx([4 / 5, 1 / 6])
    assert fitted.threshold == 0


@pytest.mark.parametrize(("scale", "shift"), [(1e6, 0), (1e-6, 0), (1, 1e6)])
def test_the_scale_and_offset_of_the_scores_do_not_matter(scale, shift):
    scores, labels = logistic_pairs(500, 1.0, 0.0)
    moved = scores * scale + shift
    expected = fit_calibration(scores, labels).probability(scores)
    np.testing.assert_allclose(fit_calibration(moved, labels).probability(moved), expected, atol=1e-6)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-1e6, 1e6, width=32), st.booleans()), min_size=2, max_size=30))
def test_a_higher_score_never_gets_a_lower_probability(rows):
    scores, labels = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    assume(labels.any() and not labels.all())
    fitted = fit_calibration(scores, labels)
    p = fitted.probability(np.sort(scores))
    assert fitted.slope >= 0
    assert (np.diff(p) >= 0).all()
    assert ((p >= 0) & (p <= 1)).all()


def test_rounding_never_swaps_two_close_scores():
    scores = np.sort(np.random.default_rng(0).normal(0, 1e-14, 5000))
    assert (np.diff(Calibration(1.0, -0.3, 0.0).probability(scores)) >= 0).all()


def test_the_probability_is_constant_if_the_scores_rank_backwards():
    fitted = fit_calibration([4, 3, 2, 1], [0, 0, 0, 1])
    assert fitted.slope == 0
    assert fitted.probability([-9, 9]) == pytest.approx([0.25, 0.25])


def test_the_probability_of_constant_scores_is_the_share_of_positives():
    fitted = fit_calibration(np.full(4, 0.1), [0, 0, 0, 1])
    assert fitted.probability([0.1]) == pytest.approx([0.25])
    assert fitted.threshold > 0.1


def test_the_threshold_is_the_best_one_for_the_metric():
    scores, labels = logistic_pairs(200, 1.0, 0.0)
    for metric in ("accuracy", "F1"):
        assert fit_calibration(scores, labels, metric).threshold == best_threshold(scores, labels, metric)


def test_extreme_scores_have_probabilities_between_zero_and_one():
    assert Calibration(1.0, 0.0, 0.0).probability([-1e5, 0, 1e5]) == pytest.approx([0, 0.5, 1], abs=1e-300)


def test_a_calibration_is_restored_from_json():
    fitted = fit_calibration(*logistic_pairs(100, 1.0, 0.0))
    assert Calibration.from_dict(json.loads(json.dumps(fitted.as_dict()))) == fitted


def test_pairs_of_one_class_are_refused():
    with pytest.raises(InputError, match="All 2 pairs are positive"):
        fit_calibration([1, 2], [1, 1])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"slope": -1, "offset": 0, "threshold": 0}, "slope is -1"),
        ({"slope": 1, "offset": float("nan"), "threshold": 0}, "offset is nan"),
        ({"slope": 1, "offset": 0, "threshold": "0"}, "threshold is '0'"),
        ({"slope": 1, "offset": 0}, "must have exactly slope, offset, threshold, but this one has slope, offset"),
        ({}, "this one has none"),
    ],
)
def test_an_invalid_calibration_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        Calibration.from_dict(values)


def graded_pairs(n: int, low: float, high: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores, and labels around the curve from `low` to `high` with slope 0.8 and offset 0.5."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 3, n)
    share = 1 / (1 + np.exp(-(0.8 * scores + 0.5)))
    return scores, np.round(low + (high - low) * np.clip(share + rng.normal(0, 0.03, n), 0, 1), 2)


@pytest.mark.parametrize(("low", "high"), [(0, 5), (1, 3), (-1, 4)])
def test_the_scale_of_graded_labels_is_recovered(low, high):
    scores, labels = graded_pairs(5000, low, high)
    scale = fit_label_scale(scores, labels)
    assert (scale.low, scale.high) == (low, high)
    assert (scale.slope, scale.offset) == pytest.approx((0.8, 0.5), abs=0.03)
    new_scores, new_labels = graded_pairs(1000, low, high, seed=1)
    assert np.mean(np.abs(scale.label(new_scores) - new_labels)) < 0.03 * (high - low)


def test_labels_on_one_side_of_zero_have_a_scale_and_no_threshold():
    scores, labels = graded_pairs(200, 1, 5)
    fitted = fit_calibration(scores, labels)
    assert (fitted.slope, fitted.offset, fitted.threshold, fitted.has_probability) == (None, None, None, False)
    with pytest.raises(InputError, match="all on one side of 0"):
        fitted.probability(scores)
    both = fit_calibration(*graded_pairs(200, -1, 4))
    assert both.label_scale is not None
    assert both.has_probability
    assert both.threshold is not None


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-1e6, 1e6, width=32), st.integers(1, 4)), min_size=2, max_size=30))
def test_a_higher_score_never_gets_a_lower_label_and_labels_stay_in_range(rows):
    scores, labels = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    assume(np.ptp(labels))
    predicted = fit_label_scale(scores, labels).label(np.sort([*scores, -1e9, 1e9]))
    assert (np.diff(predicted) >= 0).all()
    assert ((predicted >= labels.min()) & (predicted <= labels.max())).all()


def test_scores_that_rank_backwards_get_the_mean_label():
    assert fit_label_scale([4, 3, 2, 1], [1, 2, 3, 4]).label([-9, 9]) == pytest.approx([2.5, 2.5])


def test_without_grades_the_label_is_the_side_of_the_threshold():
    fitted = fit_calibration([1, 2, 3, 4], [0, 0, 1, 1])
    assert fitted.label_scale is None
    assert fitted.label([2, fitted.threshold, 3]).tolist() == [0, 1, 1]


def test_a_calibration_with_a_label_scale_is_restored_from_json():
    for low in (0, 1):
        fitted = fit_calibration(*graded_pairs(100, low, 5))
        assert Calibration.from_dict(json.loads(json.dumps(fitted.as_dict()))) == fitted
    assert "label_scale" not in fit_calibration([1, 2], [0, 1]).as_dict()


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ({"low": 0, "high": 1, "slope": 1}, "must have low, high, slope and offset"),
        ([0, 1], "must have low, high, slope and offset"),
        ({"low": 1, "high": 1, "slope": 1, "offset": 0}, "goes from 1 to 1: it must go up"),
        ({"low": 0, "high": 1, "slope": -1, "offset": 0}, "the label scale's slope is -1"),
        ({"low": 0, "high": float("inf"), "slope": 1, "offset": 0}, "the label scale's high is inf"),
    ],
)
def test_an_invalid_label_scale_is_refused(scale, message):
    with pytest.raises(InputError, match=rf"(?i){message}"):
        Calibration.from_dict({"slope": None, "offset": None, "threshold": None, "label_scale": scale})


def test_a_calibration_of_nothing_is_refused():
    with pytest.raises(InputError, match="slope is None"):
        Calibration(None, None, None)
    with pytest.raises(InputError, match="offset is None"):
        Calibration(1.0, None, None, LabelScale(0, 1, 1, 0))
    with pytest.raises(InputError, match="All 2 labels are 3"):
        fit_label_scale([1, 2], [3, 3])


@pytest.mark.parametrize(
    ("labels", "can"), [([0, 1], True), ([1, 1], False), ([0, 0], False), ([1, 2], True), ([0, 1, 2], True)]
)
def test_labels_can_be_calibrated_on_if_they_differ(labels, can):
    assert can_calibrate(labels) == can
