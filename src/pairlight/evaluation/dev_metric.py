"""The metric on the dev set that chooses the best epoch."""

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError, unknown_name
from pairlight.data.pairs import Pairs
from pairlight.evaluation.classification import best_threshold, has_grades
from pairlight.evaluation.evaluate import evaluate_scores
from pairlight.evaluation.metrics import PAIR_METRICS, RANKING_METRICS, TaskType, ThresholdMetric

_THRESHOLD_METRICS: dict[str, ThresholdMetric] = {"accuracy": "accuracy", "F1": "F1"}


def dev_metric(dev: Pairs, scores: NDArray[np.float32], metric: str) -> float:
    """Compute one metric on dev, with the best threshold for dev if it needs one; NaN if a score is not finite."""
    if metric not in (*RANKING_METRICS, *PAIR_METRICS):
        raise unknown_name("metric", metric, (*RANKING_METRICS, *PAIR_METRICS), option="metric")
    if not np.isfinite(scores).all():
        return float("nan")
    threshold = None
    if metric in _THRESHOLD_METRICS and not has_grades(dev.labels):
        threshold = best_threshold(scores, dev.labels, _THRESHOLD_METRICS[metric])
    task: TaskType = "pairs" if metric in PAIR_METRICS else "ranking"
    metrics = evaluate_scores(dev, scores, task=task, threshold=threshold).metrics
    if metric not in metrics:
        raise InputError(
            f"{metric} cannot be computed from these labels: choose from {', '.join(metrics)}.", option="metric"
        )
    return metrics[metric]


def check_dev_metric(dev: Pairs, metric: str) -> None:
    """Raise InputError if the metric cannot be computed on dev; call it before training."""
    try:
        dev_metric(dev, np.zeros(len(dev), np.float32), metric)
    except InputError as error:
        message = f"The best epoch cannot be chosen by {metric} on the dev set. {error}"
        if dev.label is not None and (dev.label > 0).all():
            raise InputError(f"{message} Or mine negatives: set negatives='random'.", option="negatives") from None
        raise InputError(message, option=error.option) from None
