"""Significance tests agree with SciPy."""

import numpy as np
import pytest
from scipy import stats

from pairlight.core.errors import InputError
from pairlight.evaluation.significance import paired_bootstrap, paired_t_test


def two_systems(n: int, gain: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    b = rng.random(n)
    return b + gain + rng.normal(0, 0.1, n), b


@pytest.mark.parametrize("gain", [0.0, 0.02, -0.05])
def test_the_t_test_equals_that_of_scipy(gain):
    a, b = two_systems(50, gain)
    ours, theirs = paired_t_test(a, b), stats.ttest_rel(a, b)
    interval = theirs.confidence_interval(0.95)
    assert ours.mean == pytest.approx(np.mean(a) - np.mean(b))
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high))


def test_the_t_test_equals_the_hand_computed_value():
    # Differences 1, 2, 3: mean 2, standard error 1/√3, t = 2√3 with 2 degrees of freedom.
    t = 2 * np.sqrt(3)
    assert paired_t_test([1, 2, 3], [0, 0, 0]).p_value == pytest.approx(1 - t / np.sqrt(t * t + 2))


@pytest.mark.parametrize("test", [paired_t_test, paired_bootstrap])
def test_equal_systems_do_not_differ(test):
    found = test([0.1, 0.5, 0.9], [0.1, 0.5, 0.9])
    assert (found.mean, found.p_value, found.low, found.high) == (0, 1, 0, 0)


@pytest.mark.parametrize("test", [paired_t_test, paired_bootstrap])
def test_the_same_gain_on_every_list_is_significant(test):
    found = test([1.5] * 10, [1.0] * 10)
    assert found.p_value < 0.001
    assert (found.low, found.high) == (0.5, 0.5)


@pytest.mark.parametrize("gain", [0.0, 0.02, -0.03])
def test_the_bootstrap_agrees_with_the_t_test_on_normal_differences(gain):
    a, b = two_systems(400, gain)
    boot, t = paired_bootstrap(a, b), paired_t_test(a, b)
    assert boot.mean == t.mean
    assert boot.p_value == pytest.approx(t.p_value, abs=0.02)
    assert (boot.low, boot.high) == pytest.approx((t.low, t.high), abs=0.001)


def test_the_bootstrap_equals_the_count_of_all_samples():
    # Two lists, differences 0 and 1: the possible means are 0, ½, ½, 1, so half of them are at least ½ from the mean ½.
    found = paired_bootstrap([0, 1], [0, 0])
    assert found.p_value == pytest.approx(0.5, abs=0.02)
    assert (found.low, found.high) == (0, 1)


def test_the_seed_determines_the_bootstrap():
    a, b = two_systems(30, 0.01)
    assert paired_bootstrap(a, b) == paired_bootstrap(a, b)
    assert paired_bootstrap(a, b) != paired_bootstrap(a, b, seed=1)


def test_many_lists_are_resampled_in_chunks_with_the_same_result():
    a, b = two_systems(30_000, 0.0005)
    boot, t = paired_bootstrap(a, b, rounds=500), paired_t_test(a, b)
    assert (boot.low, boot.high) == pytest.approx((t.low, t.high), abs=0.0003)


@pytest.mark.parametrize("test", [paired_t_test, paired_bootstrap])
def test_lists_that_are_not_paired_are_refused(test):
    with pytest.raises(InputError, match="a has 3 values and b has 2"):
        test([1, 2, 3], [1, 2])
    with pytest.raises(InputError, match="at least two"):
        test([1], [1])
    with pytest.raises(InputError, match=r"b\[1\] is nan"):
        test([1, 2], [1, np.nan])


def test_no_rounds_are_refused():
    with pytest.raises(InputError, match="rounds=0 must be at least 1"):
        paired_bootstrap([1, 2], [2, 1], rounds=0)
