"""One metric on dev chooses the best epoch, and a metric that cannot be computed is refused before training."""

import math

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.evaluation.classification import best_threshold, pair_metrics
from pairlight.evaluation.dev_metric import check_dev_metric, dev_metric
from pairlight.evaluation.metrics import GRADE_METRICS, PAIR_METRICS, RANKING_METRICS
from pairlight.evaluation.ranking import ranking_metrics

SCORES = np.array([0.1, 0.4, 0.2, 0.3], np.float32)


def table(label: list[float] | None, left: str = "aabb") -> Pairs:
    return Pairs.of(list(left), [f"right {i}" for i in range(4)], label)


@pytest.mark.parametrize("metric", RANKING_METRICS)
def test_a_ranking_metric_is_computed_on_lists(metric):
    dev = table([1, 0, 0, 1])
    assert dev_metric(dev, SCORES, metric) == ranking_metrics(SCORES, dev.labels, dev.group).metrics[metric]


@pytest.mark.parametrize("metric", PAIR_METRICS)
def test_a_pair_metric_is_computed_at_the_best_threshold_for_dev(metric):
    dev = table([1, 2, 0, 0] if metric in GRADE_METRICS else [1, 1, 0, 0])
    threshold = best_threshold(SCORES, dev.labels, metric) if metric in ("accuracy", "F1") else None
    assert dev_metric(dev, SCORES, metric) == pair_metrics(SCORES, dev.labels, threshold=threshold).metrics[metric]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_the_metric_is_nan_if_a_score_is_not_finite(bad):
    assert math.isnan(dev_metric(table([1, 0, 0, 1]), np.array([0, 1, bad, 2], np.float32), "MAP"))


def test_a_metric_that_the_labels_do_not_have_is_refused_with_those_they_have():
    with pytest.raises(InputError, match="Spearman cannot be computed from these labels: choose from ROC-AUC, AP"):
        dev_metric(table([1, 0, 0, 1]), SCORES, "Spearman")


@pytest.mark.parametrize("labels", [[1, 2, 0, 0], [1, 2, 3, 4]])
def test_graded_labels_have_no_accuracy(labels):
    with pytest.raises(
        InputError, match="accuracy cannot be computed from these labels: choose from Spearman, Pearson"
    ):
        dev_metric(table(labels, "abcd"), SCORES, "accuracy")


def test_an_unknown_metric_is_refused():
    with pytest.raises(InputError, match=r"No metric named 'NDCG@5'\. Did you mean 'nDCG@5'") as caught:
        dev_metric(table([1, 0, 0, 1]), SCORES, "NDCG@5")
    assert caught.value.option == "metric"


def test_a_metric_that_can_be_computed_passes_the_check():
    check_dev_metric(table([1, 0, 0, 1]), "MAP")
    check_dev_metric(table([1, 0, 0, 1], "abcd"), "accuracy")


def test_a_metric_that_cannot_be_computed_fails_the_check():
    with pytest.raises(
        InputError, match=r"^The best epoch cannot be chosen by MAP on the dev set\. None of the"
    ) as caught:
        check_dev_metric(table([0, 0, 0, 0]), "MAP")
    assert "negatives=" not in str(caught.value)


def test_mining_negatives_is_suggested_for_a_dev_set_of_positives():
    with pytest.raises(InputError, match=r"Or mine negatives: set negatives='random'\.$") as caught:
        check_dev_metric(table([1, 1, 1, 1], "abcd"), "accuracy")
    assert caught.value.option == "negatives"


def test_a_dev_set_without_labels_fails_the_check():
    with pytest.raises(InputError, match="These 4 pairs have no labels"):
        check_dev_metric(table(None), "MAP")
