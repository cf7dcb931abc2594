"""Metrics of independent pairs: classification into positives and negatives, or correlation with graded labels."""

from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairlight.core.errors import InputError
from pairlight.evaluation.metrics import ThresholdMetric
from pairlight.evaluation.result import EvaluationResult
from pairlight.evaluation.validation import Column, check_column, check_scores_and_labels

Bools = NDArray[np.bool_]


def pair_metrics(scores: ArrayLike, labels: ArrayLike, *, threshold: float | None = None) -> EvaluationResult:
    """Compute accuracy, F1, ROC-AUC and average precision of N pairs; a label above 0 is positive.

    For accuracy and F1, pairs with a score of at least `threshold` are classified as positive. Without a threshold
    they are left out: a threshold chosen on the same pairs would make them look too good. Ties count half in ROC-AUC,
    as usual. In average precision they count against the model: negatives come before positives of the same score.

    Graded labels have Spearman's and Pearson's correlation with the scores instead: there are no two classes.
    """
    s, y = check_scores_and_labels(scores, labels)
    if has_grades(y):
        metrics = {"Spearman": spearman(s, y), "Pearson": pearson(s, y)}
        return EvaluationResult("pairs", metrics, counted=len(s))
    _, positive = positives_and_negatives(s, y)
    metrics, notes = {}, []
    if threshold is None:
        notes.append("accuracy and F1 need a threshold chosen on other pairs, and none was given")
    else:
        predicted = s >= check_column("threshold", [threshold])[0]
        metrics["accuracy"] = float(np.mean(predicted == positive))
        metrics["F1"] = 2 * float(np.sum(predicted & positive)) / float(predicted.sum() + positive.sum())
    metrics |= {"ROC-AUC": _roc_auc(s, positive), "AP": _average_precision(s, positive)}
    return EvaluationResult("pairs", metrics, counted=len(s), threshold=threshold, notes=tuple(notes))


def has_grades(labels: ArrayLike) -> bool:
    """Whether labels distinguish more than positive and negative: three values, or two different positive ones."""
    values = np.unique(np.asarray(labels))
    return len(values) > 2 or (len(values) == 2 and bool((values > 0).all()))


def spearman(a: ArrayLike, b: ArrayLike) -> float:
    """Compute Spearman's rank correlation; tied values get the mean of their ranks.

    The correlation with constant values is 0, and that of two constants is 1.
    """
    return pearson(_ranks(np.asarray(a)), _ranks(np.asarray(b)))


def pearson(a: ArrayLike, b: ArrayLike) -> float:
    """Compute Pearson's correlation; that with constant values is 0, and that of two constants is 1."""
    x, y = (np.asarray(each, np.float64) for each in (a, b))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float(np.ptp(x) == np.ptp(y))
    x, y = (each - each.mean() for each in (x, y))
    x, y = (each / np.abs(each).max() for each in (x, y))  # squares of very small or large numbers would be 0 or inf
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1, 1))


def _ranks(values: NDArray[np.generic]) -> Column:
    _, inverse, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Column = (np.cumsum(count) - (count - 1) / 2)[inverse]
    return ranks


def best_threshold(scores: ArrayLike, labels: ArrayLike, metric: ThresholdMetric = "accuracy") -> float:
    """Return the threshold of highest accuracy or F1; choose it on dev, never on test.

    It is midway between two neighboring scores, or the lowest score (all pairs are positive), or just above the
    highest (none is). Of equally good thresholds, the one in the widest gap between scores is returned.
    """
    if metric not in get_args(ThresholdMetric):
        raise InputError(
            f"A threshold cannot be chosen by {metric!r}: choose from {', '.join(get_args(ThresholdMetric))}.",
            option="metric",
        )
    s, positive = positives_and_negatives(scores, labels)
    distinct, positives, pairs = _counts_by_score(s, positive)
    # Cut i classifies the distinct scores from the i-th on as positive; the last cut classifies none as positive.
    predicted = np.append(np.cumsum(pairs[::-1])[::-1], 0)
    correct = np.append(np.cumsum(positives[::-1])[::-1], 0)
    quality = 2 * correct - predicted if metric == "accuracy" else 2 * correct / (predicted + positive.sum())

    below, above = distinct[:-1], distinct[1:]
    middle = (below + above) / 2
    middle = np.where(middle > below, middle, above)  # there is no number between two adjacent floats
    cuts = np.concatenate(([distinct[0]], middle, [np.nextafter(distinct[-1], np.inf)]))
    gaps = np.concatenate(([0.0], above - below, [0.0]))
    return float(cuts[np.argmax(np.where(quality == quality.max(), gaps, -1.0))])


def positives_and_negatives(scores: ArrayLike, labels: ArrayLike) -> tuple[Column, Bools]:
    """Return checked scores and which pairs are positive; raise InputError unless there are both kinds."""
    s, y = check_scores_and_labels(scores, labels)
    positive = y > 0
    if positive.all() or not positive.any():
        kind = "positive (every label is above 0)" if positive.all() else "negative (no label is above 0)"
        raise InputError(f"All {len(s)} pairs are {kind}: give both positive and negative pairs.", option="label")
    return s, positive


def _counts_by_score(scores: Column, positive: Bools) -> tuple[Column, NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct scores, lowest first, with the number of positives and of pairs at each."""
    distinct, at, pairs = np.unique(scores, return_inverse=True, return_counts=True)
    return distinct, np.bincount(at[positive], minlength=len(distinct)), pairs


def _roc_auc(scores: Column, positive: Bools) -> float:
    _, positives, pairs = _counts_by_score(scores, positive)
    negatives = pairs - positives
    below = np.cumsum(negatives) - negatives / 2  # negatives with a lower score, ties counting half
    return float(positives @ below) / (float(positives.sum()) * float(negatives.sum()))


def _average_precision(scores: Column, positive: Bools) -> float:
    ranked = positive[np.lexsort((positive, -scores))]
    precision = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    return float(precision[ranked].mean())
