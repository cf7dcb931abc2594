"""What is measured comes in as columns: finite numbers, one for each pair, equal in length."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairlight.core.errors import InputError

Column = NDArray[np.float64]


def column(name: str, values: ArrayLike) -> Column:
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers ({error}): give one for each pair.") from None
    if numbers.ndim != 1 or len(numbers) == 0:
        raise InputError(f"{name} has the shape {numbers.shape}: give one number for each pair, and at least one pair.")
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise InputError(
            f"{name}[{bad[0]}] is {numbers[bad[0]]} ({len(bad)} such of {len(numbers)}): "
            "only finite numbers can be measured; drop these pairs or mend what made them."
        )
    return numbers


def columns(scores: ArrayLike, labels: ArrayLike) -> tuple[Column, Column]:
    s, y = column("scores", scores), column("labels", labels)
    if len(s) != len(y):
        raise InputError(f"There are {len(s)} scores and {len(y)} labels: give one of each for each pair.")
    return s, y


def grades(labels: Column) -> list[int]:
    """Labels as the whole numbers that ranking metrics and qrels files are made for."""
    bad = np.flatnonzero(labels != np.rint(labels))
    if len(bad):
        raise InputError(
            f"labels[{bad[0]}] is {labels[bad[0]]:g}, and ranking needs whole numbers: "
            "round the labels, or measure them as labelled pairs (kind 'pairs')."
        )
    return [int(label) for label in labels.tolist()]
