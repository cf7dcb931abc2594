"""Checks of scores and labels before metrics are computed."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairlight.core.errors import InputError

Column = NDArray[np.float64]


def check_column(name: str, values: ArrayLike) -> Column:
    """Return the values as a one-dimensional array of finite numbers, or raise InputError."""
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers ({error}): give one for each pair.") from None
    if numbers.ndim != 1 or len(numbers) == 0:
        raise InputError(f"{name} has the shape {numbers.shape}: give one number for each pair, and at least one pair.")
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise InputError(
            f"{name}[{bad[0]}] is {numbers[bad[0]]} ({len(bad)} of {len(numbers)} values are not finite): give finite "
            "numbers."
        )
    return numbers


def check_scores_and_labels(scores: ArrayLike, labels: ArrayLike) -> tuple[Column, Column]:
    """Check both columns and that they have the same length."""
    s, y = check_column("scores", scores), check_column("labels", labels)
    if len(s) != len(y):
        raise InputError(f"There are {len(s)} scores, but {len(y)} labels: give one of each for each pair.")
    return s, y


def integer_grades(labels: Column) -> list[int]:
    """Return labels as integers, which ranking metrics and qrels files require."""
    bad = np.flatnonzero(labels != np.rint(labels))
    if len(bad):
        raise InputError(
            f"labels[{bad[0]}] is {labels[bad[0]]:g}, but ranking metrics need whole numbers: round the labels, or "
            "evaluate the pairs independently (task='pairs').",
            option="task",
        )
    return [int(label) for label in labels.tolist()]
