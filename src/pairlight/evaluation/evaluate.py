"""Evaluation of the scores of a labeled table, as a ranking or as independent pairs."""

from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from pairlight.core.errors import InputError, unknown_name
from pairlight.data.pairs import Pairs
from pairlight.evaluation.classification import has_grades, pair_metrics
from pairlight.evaluation.metrics import TaskType
from pairlight.evaluation.ranking import ranking_metrics
from pairlight.evaluation.result import EvaluationResult


def task_type(pairs: Pairs) -> TaskType:
    """Return how a table is evaluated by default.

    It is "ranking" if at least half of the pairs are in a list with another pair, some list has different labels, and
    all labels are whole numbers, as ranking metrics require. Otherwise it is "pairs".
    """
    label = pairs.labels
    _, at, sizes = np.unique(pairs.group, return_inverse=True, return_counts=True)
    in_lists = 2 * np.sum(sizes[at] > 1) >= len(at)
    lowest, highest = np.full(len(sizes), np.inf), np.full(len(sizes), -np.inf)
    np.minimum.at(lowest, at, label)
    np.maximum.at(highest, at, label)
    whole = np.all(label == np.rint(label))
    return "ranking" if in_lists and np.any(lowest < highest) and whole else "pairs"


def default_metric(pairs: Pairs) -> str:
    """Return the metric by which models are compared on a table if no other is chosen."""
    if task_type(pairs) == "ranking":
        return "MAP" if np.any(pairs.labels <= 0) else "nDCG@10"  # without negatives, MAP is always 1
    return "Spearman" if has_grades(pairs.labels) else "accuracy"


def evaluate_scores(
    pairs: Pairs,
    scores: ArrayLike,
    *,
    task: TaskType | None = None,
    threshold: float | None = None,
    keep_empty: bool = False,
) -> EvaluationResult:
    """Evaluate the scores of a labeled table; the default `task` is that of `task_type`.

    `threshold` is used only for pairs and `keep_empty` only for ranking: see `pair_metrics` and `ranking_metrics`.
    """
    label = pairs.labels
    task = task or task_type(pairs)
    if task == "ranking":
        return ranking_metrics(scores, label, pairs.group, keep_empty=keep_empty)
    if task == "pairs":
        return pair_metrics(scores, label, threshold=threshold)
    raise unknown_name("task", task, get_args(TaskType), option="task")


def check_can_evaluate(pairs: Pairs, name: str) -> None:
    """Raise an InputError before training if no metric could be computed on these pairs after it."""
    try:
        evaluate_scores(pairs, [0.0] * len(pairs))
    except InputError as error:
        raise InputError(f"No metric can be computed on {name}. {error}", option=error.option) from None
