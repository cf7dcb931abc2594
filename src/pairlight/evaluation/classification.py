"""Metrics of labelled pairs: are matches told from the rest, and scored in the order of their labels?"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairlight.core.errors import InputError
from pairlight.evaluation.columns import Column, column, columns
from pairlight.evaluation.result import Result

Bools = NDArray[np.bool_]
ThresholdMetric = Literal["accuracy", "F1"]


def pair_metrics(scores: ArrayLike, labels: ArrayLike, *, threshold: float | None = None) -> Result:
    """Accuracy, F1, ROC-AUC and average precision of the pairs [N]; a label above 0 is a match.

    Accuracy and F1 call a pair a match from `threshold` on, and are left out where none is given: one picked on the
    very pairs it is measured on would flatter. Equal scores count half in ROC-AUC, as is usual, and against the model
    in average precision, where the wrong pairs among them come first. Graded labels also have Spearman's rank
    correlation with the scores, and where all of them are above 0, or none is, that alone.
    """
    s, y = columns(scores, labels)
    grades, right = graded(y), y > 0
    metrics: dict[str, float] = {}
    notes = []
    if grades and (right.all() or not right.any()):
        notes.append("labels grade, but none tells a match from the rest (above 0 or not): their order is measured")
    else:
        both_kinds(s, y)
        if threshold is None:
            notes.append("accuracy and F1 need a threshold chosen on other pairs, and none was given")
        else:
            called = s >= column("threshold", [threshold])[0]
            metrics["accuracy"] = float(np.mean(called == right))
            metrics["F1"] = 2 * float(np.sum(called & right)) / float(called.sum() + right.sum())
        metrics |= {"ROC-AUC": _roc_auc(s, right), "AP": _average_precision(s, right)}
        if grades:
            notes.append("labels have more than two values: those above 0 count as matches")
    if grades:
        metrics["Spearman"] = spearman(s, y)
    return Result("pairs", metrics, counted=len(s), threshold=threshold, notes=tuple(notes))


def graded(labels: ArrayLike) -> bool:
    """Whether labels say more than match or no match: they have three values, or two kinds of match."""
    values = np.unique(np.asarray(labels))
    return len(values) > 2 or (len(values) == 2 and bool((values > 0).all()))


def spearman(a: ArrayLike, b: ArrayLike) -> float:
    """The correlation of two rankings; equal values share the mean of their ranks, and one without any order has 0.

    Two without any order agree: 1.
    """
    x, y = (_ranks(np.asarray(each)) for each in (a, b))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float(np.ptp(x) == np.ptp(y))
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def _ranks(values: NDArray[np.generic]) -> Column:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Column = (np.cumsum(count) - (count - 1) / 2)[place]
    return ranks


def best_threshold(scores: ArrayLike, labels: ArrayLike, metric: ThresholdMetric = "accuracy") -> float:
    """The score from which pairs are best called matches; to be chosen on dev, never on test.

    It lies midway between two distinct scores, or calls every pair a match (the lowest score) or none (just above
    the highest). Of equally good ones the widest gap wins.
    """
    if metric not in get_args(ThresholdMetric):
        raise InputError(f"No threshold is chosen by {metric!r}: give one of {', '.join(get_args(ThresholdMetric))}.")
    s, right = both_kinds(scores, labels)
    distinct, matches, pairs = _tally(s, right)
    # Cut i calls the distinct scores from the i-th on matches; the last cut calls none.
    called = np.append(np.cumsum(pairs[::-1])[::-1], 0)
    hits = np.append(np.cumsum(matches[::-1])[::-1], 0)
    gain = 2 * hits - called if metric == "accuracy" else 2 * hits / (called + right.sum())

    below, above = distinct[:-1], distinct[1:]
    middle = (below + above) / 2
    middle = np.where(middle > below, middle, above)  # neighbouring floats have nothing between them
    cuts = np.concatenate(([distinct[0]], middle, [np.nextafter(distinct[-1], np.inf)]))
    gaps = np.concatenate(([0.0], above - below, [0.0]))
    return float(cuts[np.argmax(np.where(gain == gain.max(), gaps, -1.0))])


def both_kinds(scores: ArrayLike, labels: ArrayLike) -> tuple[Column, Bools]:
    s, y = columns(scores, labels)
    right = y > 0
    if right.all() or not right.any():
        what = "a match (a label above 0)" if right.all() else "not a match (no label is above 0)"
        raise InputError(f"Each of the {len(s)} pairs is {what}: give pairs of both kinds.")
    return s, right


def _tally(scores: Column, right: Bools) -> tuple[Column, NDArray[np.int64], NDArray[np.int64]]:
    """The distinct scores, lowest first, with the matches and the pairs at each."""
    distinct, at, pairs = np.unique(scores, return_inverse=True, return_counts=True)
    return distinct, np.bincount(at[right], minlength=len(distinct)), pairs


def _roc_auc(scores: Column, right: Bools) -> float:
    _, matches, pairs = _tally(scores, right)
    others = pairs - matches
    beaten = np.cumsum(others) - others / 2
    return float(matches @ beaten) / (float(matches.sum()) * float(others.sum()))


def _average_precision(scores: Column, right: Bools) -> float:
    ranked = right[np.lexsort((right, -scores))]
    precision = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    return float(precision[ranked].mean())
