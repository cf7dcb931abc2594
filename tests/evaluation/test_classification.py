"""Metrics of independent pairs agree with scikit-learn and SciPy."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, roc_auc_score

from pairlight.core.errors import InputError
from pairlight.evaluation.classification import best_threshold, has_grades, pair_metrics, pearson, spearman


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Few different scores, so that there are many ties, with positive and negative labels."""
    rows = draw(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=30))
    scores, labels = np.array([row[0] for row in rows]) / 4, np.array([row[1] for row in rows])
    assume(labels.any() and not labels.all())
    return scores, labels


def test_every_metric_equals_the_hand_computed_value():
    result = pair_metrics([0.9, 0.8, 0.7, 0.6, 0.5], [1, 0, 1, 0, 0], threshold=0.65)
    assert list(result.metrics) == ["accuracy", "F1", "ROC-AUC", "AP"]
    assert result.metrics["accuracy"] == pytest.approx(4 / 5)
    assert result.metrics["F1"] == pytest.approx(2 * 2 / (3 + 2))
    assert result.metrics["ROC-AUC"] == pytest.approx(5 / 6)
    assert result.metrics["AP"] == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert (result.task, result.counted, result.threshold, result.notes) == ("pairs", 5, 0.65, ())


@settings(deadline=None)
@given(tables(), st.integers(-4, 4))
def test_the_metrics_equal_those_of_scikit_learn(table, cut):
    scores, labels = table
    ours = pair_metrics(scores, labels, threshold=cut / 4).metrics
    predicted = scores >= cut / 4
    assert ours["accuracy"] == pytest.approx(accuracy_score(labels, predicted))
    assert ours["F1"] == pytest.approx(f1_score(labels, predicted))
    assert ours["ROC-AUC"] == pytest.approx(roc_auc_score(labels, scores))
    worst_first = np.lexsort((labels, -scores))
    assert ours["AP"] == pytest.approx(average_precision_score(labels[worst_first], -np.arange(len(labels))))


@settings(deadline=None)
@given(tables())
def test_ties_never_help_average_precision(table):
    scores, labels = table
    assert pair_metrics(scores, labels).metrics["AP"] <= average_precision_score(labels, scores) + 1e-12


@settings(deadline=None)
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_matter(table, random):
    scores, labels = table
    rows = list(range(len(scores)))
    random.shuffle(rows)
    assert pair_metrics(scores[rows], labels[rows], threshold=0.1) == pair_metrics(scores, labels, threshold=0.1)
    assert best_threshold(scores[rows], labels[rows]) == best_threshold(scores, labels)


def test_a_constant_scorer_gets_low_values():
    labels = np.arange(100) < 10
    metrics = pair_metrics(np.ones(100), labels, threshold=1).metrics
    assert metrics["accuracy"] == 0.1
    assert metrics["ROC-AUC"] == 0.5
    assert metrics["AP"] == pytest.approx(np.mean(np.arange(1, 11) / np.arange(91, 101)))


def test_accuracy_and_f1_are_left_out_without_a_threshold():
    result = pair_metrics([1, 0], [1, 0])
    assert list(result.metrics) == ["ROC-AUC", "AP"]
    assert "threshold" in result.notes[0]


@pytest.mark.parametrize("labels", [[0.7, 0.2, 0, 0.1], [3, 1, 2, 5], [-1, 0, 1, 2]])
def test_graded_labels_have_correlations_and_no_metric_of_classes(labels):
    scores = [0.1, 0.4, 0.2, 0.3]
    result = pair_metrics(scores, labels, threshold=0)
    assert result.metrics == {
        "Spearman": pytest.approx(spearmanr(scores, labels).statistic),
        "Pearson": pytest.approx(pearsonr(scores, labels).statistic),
    }
    assert (result.threshold, result.notes) == (None, ())


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), min_size=2, max_size=30), st.floats(-200, 200))
def test_pearson_equals_that_of_scipy_at_any_scale(rows, exponent):
    scores, labels = (np.array(column, float) for column in zip(*rows, strict=True))
    assume(np.ptp(scores) and np.ptp(labels))
    assert pearson(scores * 10**exponent, labels) == pytest.approx(pearsonr(scores, labels).statistic, abs=1e-9)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), min_size=2, max_size=30))
def test_spearman_equals_that_of_scipy(rows):
    scores, labels = (np.array(column) for column in zip(*rows, strict=True))
    assume(np.ptp(scores) and np.ptp(labels))
    assert spearman(scores, labels) == pytest.approx(spearmanr(scores, labels).statistic)


def test_the_correlations_of_a_constant_scorer_are_zero():
    assert pair_metrics([1, 1, 1], [1, 2, 3]).metrics == {"Spearman": 0.0, "Pearson": 0.0}


def test_the_best_threshold_is_midway_between_two_scores():
    assert best_threshold([0, 1, 3, 4], [0, 0, 1, 1]) == 2


def test_the_best_threshold_depends_on_the_metric():
    # With one pair predicted positive, 5 of 7 are correct and F1 is 2/4; with six, 4 of 7 and F1 is 6/9.
    scores, labels = np.arange(7), [0, 1, 1, 0, 0, 0, 1]
    assert best_threshold(scores, labels, "accuracy") == 5.5
    assert best_threshold(scores, labels, "F1") == 0.5


@settings(deadline=None)
@given(tables(), st.sampled_from(["accuracy", "F1"]))
def test_no_other_threshold_is_better(table, metric):
    scores, labels = table
    best = pair_metrics(scores, labels, threshold=best_threshold(scores, labels, metric)).metrics[metric]
    others = [pair_metrics(scores, labels, threshold=cut / 8).metrics[metric] for cut in range(-7, 8)]
    assert best == max(others)


def test_of_equally_good_thresholds_the_one_in_the_widest_gap_is_chosen():
    assert best_threshold([0, 1, 2, 12], [0, 1, 0, 1]) == 7
    assert best_threshold([0, 10, 11, 12], [0, 1, 0, 1]) == 5


def test_constant_scores_are_classified_as_the_majority_class():
    scores = np.ones(3)
    assert not (scores >= best_threshold(scores, [1, 0, 0])).any()
    assert (scores >= best_threshold(scores, [1, 1, 0])).all()


def test_a_threshold_separates_adjacent_floats():
    scores = np.array([1, np.nextafter(1, 2)])
    assert (scores >= best_threshold(scores, [0, 1])).tolist() == [False, True]


@pytest.mark.parametrize("labels", [[1, 1], [0, -1]])
def test_pairs_of_one_class_are_refused(labels):
    with pytest.raises(InputError, match="give both positive and negative pairs"):
        pair_metrics([1, 2], labels)
    with pytest.raises(InputError, match="give both positive and negative pairs"):
        best_threshold([1, 2], labels)


def test_invalid_numbers_and_names_are_refused():
    with pytest.raises(InputError, match=r"scores\[0\] is nan"):
        pair_metrics([np.nan, 1], [0, 1])
    with pytest.raises(InputError, match=r"threshold\[0\] is nan"):
        pair_metrics([2, 1], [0, 1], threshold=np.nan)
    with pytest.raises(InputError, match="'recall': choose from accuracy, F1"):
        best_threshold([2, 1], [0, 1], "recall")


@pytest.mark.parametrize(
    ("labels", "graded"), [([0, 1], False), ([-1, 1], False), ([1, 1], False), ([1, 2], True), ([0, 1, 2], True)]
)
def test_labels_are_graded_if_they_distinguish_more_than_two_classes(labels, graded):
    assert has_grades(labels) == graded


def test_two_constants_have_correlation_one():
    assert spearman([1, 1], [5, 5]) == pearson([1, 1], [5, 5]) == 1.0
