"""Calibration of scores: Platt scaling to probabilities, and the best decision threshold."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from pairlight.core.errors import InputError
from pairlight.evaluation.classification import best_threshold, positives_and_negatives
from pairlight.evaluation.metrics import ThresholdMetric
from pairlight.evaluation.validation import Column


@dataclass(frozen=True)
class Calibration:
    """probability = sigmoid(slope · score + offset); a pair is classified as positive if score ≥ threshold."""

    slope: float
    offset: float
    threshold: float

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, int | float) or not np.isfinite(value):
                raise InputError(f"The calibration's {name} is {value!r}: it must be a finite number.")
        if self.slope < 0:
            raise InputError(
                f"The calibration's slope is {self.slope}: it must be at least 0, so that a higher score never gets a "
                "lower probability."
            )

    def probability(self, scores: ArrayLike) -> Column:
        """Return the probability that each pair is positive."""
        return _sigmoid(self.slope * np.asarray(scores, np.float64) + self.offset)

    def as_dict(self) -> dict[str, float]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, float]) -> Self:
        names = [field.name for field in fields(cls)]
        if set(values) != set(names):
            raise InputError(
                f"A calibration must have exactly {', '.join(names)}, but this one has {', '.join(values) or 'none'}."
            )
        return cls(**values)


def fit_calibration(scores: ArrayLike, labels: ArrayLike, metric: ThresholdMetric = "accuracy") -> Calibration:
    """Fit Platt scaling and the threshold of highest accuracy or F1 on dev pairs; a label above 0 is positive.

    If higher scores do not mean more positives, the slope is 0 and every probability is the share of positives: a
    decreasing curve would contradict the ranking.
    """
    s, positive = positives_and_negatives(scores, labels)
    positives = int(positive.sum())
    # Platt's smoothed targets instead of 1 and 0, so that the fit is finite even for separable scores.
    target = np.where(positive, (positives + 1) / (positives + 2), 1 / (len(s) - positives + 2))
    slope, offset = _fit_logistic(s, target) if s.min() < s.max() else (0.0, 0.0)
    if slope <= 0:
        slope, offset = 0.0, _logit(positives / len(s))
    return Calibration(slope, offset, best_threshold(s, positive, metric))


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
