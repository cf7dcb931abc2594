"""Similarities are counted in the bin of their value, and padding is not counted."""

import math

import pytest
import torch

from pairlight.layers.histogram import BinWeights, Histogram, bin_index
from pairlight.layers.types import Grid

VALUES = [[1.0, 0.2, 0.7, 0.3, -0.1, 0.1], [-1.0, 0.999, 0.0, 1.0, -0.6, 0.6]]


def grid(poison: float = 0.0, extra: int = 0) -> Grid:
    x = torch.full((1, 1, 2 + extra, 6 + extra), poison, dtype=torch.float64)
    x[0, 0, :2, :6] = torch.tensor(VALUES)
    mask = torch.zeros(x.shape[0], *x.shape[2:], dtype=torch.bool)
    mask[:, :2, :6] = True
    return Grid(x, mask)


def ones(columns: int) -> torch.Tensor:
    return torch.ones(1, columns, dtype=torch.float64)


def test_bins_divide_the_range_evenly_and_the_last_is_for_exactly_one():
    assert bin_index(torch.tensor([-1, 0, 0.999, 1]), 21).tolist() == [0, 10, 19, 20]


@pytest.mark.parametrize("bins", [2, 30, 600])
def test_a_value_just_below_one_is_not_in_the_last_bin(bins):
    assert bin_index(torch.tensor([1 - 1e-6]), bins).tolist() == [bins - 2]


def test_a_histogram_equals_that_of_the_drmm_paper():
    assert Histogram(5)(grid(), ones(6))[0].tolist() == [[0, 1, 3, 1, 1], [2, 0, 1, 2, 1]]


def test_a_histogram_counts_each_word_with_its_attention_weight():
    b = torch.tensor([[0.5, 1, 1, 2, 1, 1]], dtype=torch.float64)
    torch.testing.assert_close(Histogram(5)(grid(), b)[0, 0], torch.tensor([0, 1, 4, 1, 0.5]).double())


def test_bin_weights_multiply_the_sum_of_values_in_each_bin():
    layer = BinWeights(5).double()
    torch.nn.init.normal_(layer.w)
    sums = torch.tensor([[0, -0.1, 0.2 + 0.3 + 0.1, 0.7, 1], [-1.6, 0, 0, 0.999 + 0.6, 1]]).double()
    torch.testing.assert_close(layer(grid(), ones(6))[0], sums @ layer.w, rtol=1e-6, atol=1e-6)


def test_every_bin_with_a_value_gets_a_gradient():
    layer = BinWeights(5).double()
    layer(grid(), ones(6)).sum().backward()
    torch.testing.assert_close(layer.w.grad, torch.tensor([-1.6, -0.1, 0.6, 2.299, 2]).double(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("poison", [1e3, math.nan])
@pytest.mark.parametrize("layer", [Histogram(5), BinWeights(5).double()])
def test_padding_is_in_no_bin(layer, poison):
    for w in layer.parameters():
        torch.nn.init.normal_(w)
    b = torch.nn.functional.pad(ones(6), (0, 3), value=poison)
    out = layer(grid(poison, extra=3), b)
    torch.testing.assert_close(out[:, :2], layer(grid(), ones(6)))
    assert (out[:, 2:] == 0).all()
