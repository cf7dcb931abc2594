"""From scores to probabilities and decisions: Platt scaling, and the threshold that suits it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from pairlight.core.errors import InputError
from pairlight.evaluation.columns import Column
from pairlight.evaluation.labelled import Bools, ThresholdMetric, best_threshold, both_kinds


@dataclass(frozen=True)
class Calibration:
    """probability = sigmoid(slope · score + offset); a pair is called a match where score ≥ threshold."""

    slope: float
    offset: float
    threshold: float

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, int | float) or not np.isfinite(value):
                raise InputError(f"The calibration's {name} is {value!r}: give a finite number.")
        if self.slope < 0:
            raise InputError(
                f"The calibration's slope is {self.slope}: a better score may not mean less; give 0 or more."
            )

    def probability(self, scores: ArrayLike) -> Column:
        return _sigmoid(self.slope * np.asarray(scores, np.float64) + self.offset)

    def matches(self, scores: ArrayLike) -> Bools:
        return np.asarray(scores, np.float64) >= self.threshold

    @property
    def threshold_probability(self) -> float:
        return float(self.probability(self.threshold))

    def as_dict(self) -> dict[str, float]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, float]) -> Self:
        names = [field.name for field in fields(cls)]
        if set(values) != set(names):
            raise InputError(f"A calibration has {', '.join(names)}, and this one {', '.join(values) or 'nothing'}.")
        return cls(**values)


def fit_calibration(scores: ArrayLike, labels: ArrayLike, metric: ThresholdMetric = "accuracy") -> Calibration:
    """Platt scaling and the threshold of best accuracy or F1, fitted on dev pairs; a label above 0 is a match.

    Where higher scores do not go with more matches, the slope is 0 and every probability is the share of matches:
    a falling curve would contradict the ranking.
    """
    s, right = both_kinds(scores, labels)
    matches = int(right.sum())
    # Platt's targets: short of 1 and 0 by what one unseen pair of each kind would change, so the fit is always finite.
    target = np.where(right, (matches + 1) / (matches + 2), 1 / (len(s) - matches + 2))
    slope, offset = _logistic(s, target) if s.min() < s.max() else (0.0, 0.0)
    if slope <= 0:
        slope, offset = 0.0, _logit(matches / len(s))
    return Calibration(slope, offset, best_threshold(s, right, metric))


def _logistic(x: Column, target: Column) -> tuple[float, float]:
    """The slope and offset of least Σ log(1 + exp z) − target · z with z = slope · x + offset, by Newton's method."""
    centre, spread = x.mean(), x.std()
    design = np.stack([(x - centre) / spread, np.ones_like(x)], axis=1)

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
    slope = float(w[0] / spread)
    return slope, float(w[1] - slope * centre)


def _sigmoid(z: Column) -> Column:
    # Each step rises or falls throughout, so rounding never turns the order of two scores; beyond 700 exp overflows.
    p: Column = 1 / (1 + np.exp(-np.clip(z, -700, 700)))
    return p


def _logit(p: float) -> float:
    return float(np.log(p) - np.log1p(-p))
