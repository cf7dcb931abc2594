"""Losses equal hand-worked values."""

import math

import pytest
import torch

from pairlight.training.losses import bce, hinge, listwise, squared

LISTS = torch.tensor([[2.0, 0.0], [1.5, 0.5], [0.0, -2.0]])  # the positive first: two lists, two negatives each


def test_hinge_is_the_mean_violation_of_the_margin():
    assert hinge(LISTS, 1.0).item() == pytest.approx((0.5 + 0 + 1.5 + 0) / 4)


def test_listwise_is_minus_the_log_probability_of_the_positive():
    def share(positive, *negatives):
        return math.exp(2 * positive) / sum(math.exp(2 * s) for s in (positive, *negatives))

    expected = -(math.log(share(2.0, 1.5, 0.0)) + math.log(share(0.0, 0.5, -2.0))) / 2
    assert listwise(LISTS, 2.0).item() == pytest.approx(expected)


def test_bce_takes_the_score_as_a_logit():
    expected = (math.log(1 + math.exp(-2.0)) + math.log(1 + math.exp(0.5))) / 2
    assert bce(torch.tensor([2.0, 0.5]), torch.tensor([1.0, 0.0])).item() == pytest.approx(expected)


def test_squared_error_is_the_mean_of_squares():
    assert squared(torch.tensor([2.0, 0.5]), torch.tensor([1.0, 0.0])).item() == pytest.approx((1 + 0.25) / 2)
