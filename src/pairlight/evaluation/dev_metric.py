"""How dev judges an epoch: by one metric, and whether it can is said before training."""

import numpy as np
from numpy.typing import NDArray

from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.evaluation.evaluate import evaluate_scores
from pairlight.evaluation.labelled import ThresholdMetric, best_threshold
from pairlight.evaluation.result import Kind
from pairlight.training.config import PAIR_METRICS


def dev_metric(dev: Pairs, scores: NDArray[np.float32], metric: str) -> float:
    """The dev metric, NaN where a score is; where it takes a threshold, the one that suits dev best."""
    if not np.isfinite(scores).all():
        return float("nan")
    named: dict[str, ThresholdMetric] = {"accuracy": "accuracy", "F1": "F1"}
    threshold = best_threshold(scores, dev.labels, named[metric]) if metric in named else None
    kind: Kind = "pairs" if metric in PAIR_METRICS else "ranking"
    found = evaluate_scores(dev, scores, kind=kind, threshold=threshold).metrics
    if metric not in found:
        raise InputError(f"These labels have no {metric}: choose one of {', '.join(found)}.")
    return found[metric]


def check_dev_metric(dev: Pairs, metric: str, set_aside: bool) -> None:
    """Say so before training where dev can't choose an epoch."""
    try:
        dev_metric(dev, np.zeros(len(dev), np.float32), metric)
    except InputError as error:
        more = " Wrong texts can be mined: --negatives random." if set_aside and (dev.labels > 0).all() else ""
        raise InputError(f"The dev set can't choose the best epoch by {metric}. {error}{more}") from None
