"""One way in: a pair table and its scores, measured as the table calls for."""

from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.evaluation.labelled import graded, pair_metrics
from pairlight.evaluation.ranking import rank_metrics
from pairlight.evaluation.result import Kind, Result


def task_type(pairs: Pairs) -> Kind:
    """Ranking where at least half of the pairs share their list with another and some list mixes labels.

    Anything else is labelled pairs, and so are labels that are not whole numbers, which ranking metrics cannot take.
    """
    label = pairs.labels
    _, at, rows = np.unique(pairs.group, return_inverse=True, return_counts=True)
    shared = 2 * np.sum(rows[at] > 1) >= len(at)
    lowest, highest = np.full(len(rows), np.inf), np.full(len(rows), -np.inf)
    np.minimum.at(lowest, at, label)
    np.maximum.at(highest, at, label)
    whole = np.all(label == np.rint(label))
    return "ranking" if shared and np.any(lowest < highest) and whole else "pairs"


def default_metric(pairs: Pairs) -> str:
    """What a table is judged by where nothing else is asked for."""
    if task_type(pairs) == "ranking":
        return "MAP" if np.any(pairs.labels <= 0) else "nDCG@10"  # MAP is 1 where every text is a right answer
    return "Spearman" if graded(pairs.labels) else "accuracy"


def evaluate_scores(
    pairs: Pairs,
    scores: ArrayLike,
    *,
    kind: Kind | None = None,
    threshold: float | None = None,
    keep_empty: bool = False,
) -> Result:
    """Measure the scores of a labelled table; `task_type` chooses the kind where none is given.

    `threshold` speaks only to labelled pairs and `keep_empty` only to rankings: see `pair_metrics`, `rank_metrics`.
    """
    label = pairs.labels
    kind = kind or task_type(pairs)
    if kind == "ranking":
        return rank_metrics(scores, label, pairs.group, keep_empty=keep_empty)
    if kind == "pairs":
        return pair_metrics(scores, label, threshold=threshold)
    raise InputError(f"No kind of evaluation is named {kind!r}: give one of {', '.join(get_args(Kind))}.")
