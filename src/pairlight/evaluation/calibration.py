"""Calibration of scores: to probabilities with a decision threshold, and to the scale of graded labels."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pairlight.core.errors import InputError
from pairlight.evaluation.classification import best_threshold, has_grades, positives_and_negatives
from pairlight.evaluation.metrics import ThresholdMetric
from pairlight.evaluation.validation import Column, check_scores_and_labels


@dataclass(frozen=True)
class LabelScale:
    """label = low + (high - low) · sigmoid(slope · score + offset): increasing, and within the range of the labels."""

    low: float
    high: float
    slope: float
    offset: float

    def __post_init__(self) -> None:
        _check_numbers("label scale", asdict(self))
        if self.low >= self.high:
            raise InputError(f"The label scale goes from {self.low} to {self.high}: it must go up.")

    def label(self, scores: ArrayLike) -> Column:
        """Return the label that each score stands for."""
        share = _sigmoid(self.slope * np.asarray(scores, np.float64) + self.offset)
        label: Column = self.low + (self.high - self.low) * share
        return label


@dataclass(frozen=True)
class Calibration:
    """probability = sigmoid(slope · score + offset); a pair is classified as positive if score ≥ threshold.

    These are None where all labels were on one side of 0. Graded labels also have a scale.
    """

    slope: float | None
    offset: float | None
    threshold: float | None
    label_scale: LabelScale | None = None

    def __post_init__(self) -> None:
        values = {"slope": self.slope, "offset": self.offset, "threshold": self.threshold}
        if self.label_scale is not None and not any(value is not None for value in values.values()):
            return
        _check_numbers("calibration", values)

    @property
    def has_probability(self) -> bool:
        """Whether scores stand for probabilities: not where all labels were on one side of 0."""
        return self.slope is not None

    def probability(self, scores: ArrayLike) -> Column:
        """Return the probability that each pair is positive."""
        if self.slope is None or self.offset is None:
            raise InputError(
                "This model is calibrated on graded labels that are all on one side of 0, so a pair is neither "
                "positive nor negative: predict labels (as_label=True)."
            )
        return _sigmoid(self.slope * np.asarray(scores, np.float64) + self.offset)

    def label(self, scores: ArrayLike) -> Column:
        """Return the label that each score stands for: on the scale of graded labels, otherwise 1 or 0."""
        if self.label_scale is not None:
            return self.label_scale.label(scores)
        # In float64, since a threshold just above the highest score would be rounded down to it.
        return (np.asarray(scores, np.float64) >= np.float64(self.threshold or 0.0)).astype(np.float64)

    def as_dict(self) -> dict[str, Any]:
        """Return the values in a form ready for JSON; without a label scale, there is none in it."""
        return {name: value for name, value in asdict(self).items() if value is not None or name != "label_scale"}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        names = [field.name for field in fields(cls) if field.name != "label_scale"]
        scale = values.get("label_scale")
        if set(values) - {"label_scale"} != set(names):
            raise InputError(
                f"A calibration must have exactly {', '.join(names)}, but this one has {', '.join(values) or 'none'}."
            )
        if scale is not None and (not isinstance(scale, Mapping) or set(scale) != {f.name for f in fields(LabelScale)}):
            raise InputError(f"The calibration's label_scale is {scale!r}: it must have low, high, slope and offset.")
        return cls(**{**values, "label_scale": None if scale is None else LabelScale(**scale)})


def can_calibrate(labels: ArrayLike) -> bool:
    """Whether labels can be calibrated on: there are positives and negatives, or grades."""
    y = np.asarray(labels)
    return has_grades(y) or bool(0 < np.mean(y > 0) < 1)


def fit_calibration(scores: ArrayLike, labels: ArrayLike, metric: ThresholdMetric = "accuracy") -> Calibration:
    """Fit probabilities by Platt scaling and the threshold of highest accuracy or F1; a label above 0 is positive.

    For graded labels, the scale of the labels is fitted too; if they are all on one side of 0, it is the only thing
    that is fitted. If higher scores do not mean more positives, the slope is 0 and every probability is the share of
    positives: a decreasing curve would contradict the ranking.
    """
    s, y = check_scores_and_labels(scores, labels)
    graded = has_grades(y)
    scale = fit_label_scale(s, y) if graded else None
    if graded and not 0 < np.mean(y > 0) < 1:
        return Calibration(None, None, None, scale)
    s, positive = positives_and_negatives(s, y)
    positives = int(positive.sum())
    # Platt's smoothed targets instead of 1 and 0, so that the fit is finite even for separable scores.
    target = np.where(positive, (positives + 1) / (positives + 2), 1 / (len(s) - positives + 2))
    slope, offset = _fit_increasing(s, target, positives / len(s))
    return Calibration(slope, offset, best_threshold(s, positive, metric), scale)


def fit_label_scale(scores: ArrayLike, labels: ArrayLike) -> LabelScale:
    """Fit the scale of graded labels by logistic regression of each label's place between the lowest and highest."""
    s, y = check_scores_and_labels(scores, labels)
    low, high = float(y.min()), float(y.max())
    if low == high:
        raise InputError(f"All {len(y)} labels are {low:g}: give graded labels.", option="label")
    share = (y - low) / (high - low)
    smoothed = (len(s) * share + 1) / (len(s) + 2)  # away from 0 and 1, as in Platt scaling
    return LabelScale(low, high, *_fit_increasing(s, smoothed, float(share.mean())))


def _fit_increasing(x: Column, target: Column, mean: float) -> tuple[float, float]:
    """The slope and offset of the logistic curve; where it does not increase, a constant with this mean."""
    slope, offset = _fit_logistic(x, target) if x.min() < x.max() else (0.0, 0.0)
    return (slope, offset) if slope > 0 else (0.0, _logit(mean))


def _check_numbers(what: str, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if not isinstance(value, int | float) or not np.isfinite(value):
            raise InputError(f"The {what}'s {name} is {value!r}: it must be a finite number.")
    if values["slope"] < 0:
        raise InputError(
            f"The {what}'s slope is {values['slope']}: it must be at least 0, so that a higher score never gets a "
            "lower value."
        )


def _fit_logistic(x: Column, target: Column) -> tuple[float, float]:
    """Minimize Σ log(1 + exp z) − target · z with z = slope · x + offset by Newton's method."""
    mean, std = x.mean(), x.std()
    design = np.stack([(x - mean) / std, np.ones_like(x)], axis=1)

    def loss(w: Column) -> float:
        z = design @ w
        return float(np.sum(np.logaddexp(0, z) - target * z))

    w = np.array([0.0, _logit(float(target.mean()))])
    for _ in range(100):
        p = _sigmoid(design @ w)
        gradient = design.T @ (p - target)
        if np.abs(gradient).max() < 1e-10 * len(x):
            break
        hessian = (design.T * (p * (1 - p))) @ design + 1e-12 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        rate = 1.0
        while rate > 1e-10 and loss(w - rate * step) > loss(w) - 1e-4 * rate * float(gradient @ step):
            rate /= 2
        w = w - rate * step
    slope = float(w[0] / std)
    return slope, float(w[1] - slope * mean)


def _sigmoid(z: Column) -> Column:
    # Every operation is monotonic, so rounding never swaps two scores. exp overflows above 700.
    p: Column = 1 / (1 + np.exp(-np.clip(z, -700, 700)))
    return p


def _logit(p: float) -> float:
    return float(np.log(p) - np.log1p(-p))
