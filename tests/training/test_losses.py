import math

import pytest
import torch

from pairlight.training.losses import cross_entropy, hinge, softmax, squared

LISTS = torch.tensor([[2.0, 0.0], [1.5, 0.5], [0.0, -2.0]])  # the better text first: two lists, two worse texts each


def test_hinge_is_the_mean_shortfall_of_every_triple():
    assert hinge(LISTS, 1.0).item() == pytest.approx((0.5 + 0 + 1.5 + 0) / 4)


def test_softmax_is_minus_the_log_of_the_better_texts_share():
    def share(better, *worse):
        return math.exp(2 * better) / sum(math.exp(2 * s) for s in (better, *worse))

    expected = -(math.log(share(2.0, 1.5, 0.0)) + math.log(share(0.0, 0.5, -2.0))) / 2
    assert softmax(LISTS, 2.0).item() == pytest.approx(expected)


def test_cross_entropy_takes_the_score_as_log_odds():
    expected = (math.log(1 + math.exp(-2.0)) + math.log(1 + math.exp(0.5))) / 2
    assert cross_entropy(torch.tensor([2.0, 0.5]), torch.tensor([1.0, 0.0])).item() == pytest.approx(expected)


def test_squared_error_is_the_mean_of_squares():
    assert squared(torch.tensor([2.0, 0.5]), torch.tensor([1.0, 0.0])).item() == pytest.approx((1 + 0.25) / 2)
