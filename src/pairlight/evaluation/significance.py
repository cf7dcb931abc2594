"""Significance tests for the difference between two systems on the same ranking lists."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pairlight.core.errors import InputError
from pairlight.evaluation.validation import Column, check_column


@dataclass(frozen=True)
class PairedDifference:
    """The mean of a - b, its two-sided p-value, and its 95% confidence interval."""

    mean: float
    p_value: float
    low: float
    high: float


def paired_t_test(a: ArrayLike, b: ArrayLike) -> PairedDifference:
    """Run Student's paired t-test on the values of each list."""
    from scipy.special import stdtr, stdtrit  # gensim depends on scipy

    d = _differences(a, b)
    mean, error, freedom = float(d.mean()), float(d.std(ddof=1)) / len(d) ** 0.5, len(d) - 1
    if error == 0:
        return PairedDifference(mean, 0.0 if mean else 1.0, mean, mean)
    half = float(stdtrit(freedom, 0.975)) * error
    return PairedDifference(mean, 2 * float(stdtr(freedom, -abs(mean) / error)), mean - half, mean + half)


def paired_bootstrap(a: ArrayLike, b: ArrayLike, rounds: int = 10_000, seed: int = 0) -> PairedDifference:
    """Run a paired bootstrap test: resample the lists with replacement `rounds` times.

    The confidence interval contains the middle 95% of the resampled means. The p-value is the share of means,
    including the observed one, that are at least as far from the observed mean as the observed mean is from 0.
    """
    if rounds < 1:
        raise InputError(f"rounds={rounds} must be at least 1.")
    d = _differences(a, b)
    mean, rng = float(d.mean()), np.random.default_rng(seed)
    means = np.empty(rounds)
    chunk = max(1, 1_000_000 // len(d))  # limits the memory
    for start in range(0, rounds, chunk):
        part = means[start : start + chunk]
        part[:] = d[rng.integers(len(d), size=(len(part), len(d)))].mean(axis=1)
    far = int(np.sum(np.abs(means - mean) >= abs(mean)))
    low, high = np.quantile(means, [0.025, 0.975])
    return PairedDifference(mean, (1 + far) / (1 + rounds), float(low), float(high))


def _differences(a: ArrayLike, b: ArrayLike) -> Column:
    first, second = check_column("a", a), check_column("b", b)
    if len(first) != len(second) or len(first) < 2:
        raise InputError(
            f"a has {len(first)} values and b has {len(second)}: give both for the same lists, at least two."
        )
    return first - second
