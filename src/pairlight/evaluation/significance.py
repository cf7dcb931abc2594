"""Is one ranking better than another on the same lists, or was it luck?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pairlight.core.errors import InputError
from pairlight.evaluation.columns import Column, column


@dataclass(frozen=True)
class Difference:
    """The mean of a − b, how likely one as far from 0 is by luck alone (two-sided), and its 95% interval."""

    mean: float
    p: float
    low: float
    high: float


def paired_t(a: ArrayLike, b: ArrayLike) -> Difference:
    """Student's paired t-test of the values of each list."""
    from scipy.special import stdtr, stdtrit  # gensim depends on scipy

    d = _differences(a, b)
    mean, error, freedom = float(d.mean()), float(d.std(ddof=1)) / len(d) ** 0.5, len(d) - 1
    if error == 0:
        return Difference(mean, 0.0 if mean else 1.0, mean, mean)
    half = float(stdtrit(freedom, 0.975)) * error
    return Difference(mean, 2 * float(stdtr(freedom, -abs(mean) / error)), mean - half, mean + half)


def paired_bootstrap(a: ArrayLike, b: ArrayLike, rounds: int = 10_000, seed: int = 0) -> Difference:
    """Draw the lists anew, with replacement, `rounds` times.

    The interval holds the middle 95% of the drawn means. p is the share of them, counting the one observed, that lie
    as far from the observed mean as that lies from 0.
    """
    if rounds < 1:
        raise InputError(f"rounds is {rounds}: give 1 or more.")
    d = _differences(a, b)
    mean, rng = float(d.mean()), np.random.default_rng(seed)
    drawn = np.empty(rounds)
    together = max(1, 1_000_000 // len(d))  # bounds the memory
    for start in range(0, rounds, together):
        part = drawn[start : start + together]
        part[:] = d[rng.integers(len(d), size=(len(part), len(d)))].mean(axis=1)
    far = int(np.sum(np.abs(drawn - mean) >= abs(mean)))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Difference(mean, (1 + far) / (1 + rounds), float(low), float(high))


def _differences(a: ArrayLike, b: ArrayLike) -> Column:
    first, second = column("a", a), column("b", b)
    if len(first) != len(second) or len(first) < 2:
        raise InputError(
            f"a has {len(first)} values and b has {len(second)}: give both for the same lists, and two lists or more."
        )
    return first - second
