"""Words find their like in the other text, never in the padding."""

import math

import pytest
import torch

from pairlight.layers.types import Seq
from pairlight.layers.alignment import aligned, contrasted, mean_and_max
from pairlight.layers.interactions import Dot


def seq(length: int, seed: int, poison: float = 0.0, extra: int = 0) -> Seq:
    x = torch.full((1, length + extra, 3), poison, dtype=torch.float64)
    x[0, :length] = torch.randn(length, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    mask = torch.arange(length + extra)[None] < length
    return Seq(x, mask, torch.ones_like(mask, dtype=torch.int64))


def test_a_word_finds_a_mixture_of_the_other_text():
    u, v = seq(2, 0), seq(3, 1)
    found_u, found_v = aligned(Dot()(u, v), u, v)
    for i in range(2):
        share = torch.softmax(v.x[0] @ u.x[0, i], 0)
        torch.testing.assert_close(found_u.x[0, i], share @ v.x[0])
    for j in range(3):
        share = torch.softmax(u.x[0] @ v.x[0, j], 0)
        torch.testing.assert_close(found_v.x[0, j], share @ u.x[0])


@pytest.mark.parametrize("poison", [1e3, math.nan])
def test_nothing_is_found_in_the_padding(poison):
    u, v = seq(2, 0, poison, extra=3), seq(3, 1, poison, extra=1)
    bare_u, bare_v = seq(2, 0), seq(3, 1)
    wanted = aligned(Dot()(bare_u, bare_v), bare_u, bare_v)
    for found, bare in zip(aligned(Dot()(u, v), u, v), wanted, strict=True):
        n = bare.x.shape[1]
        torch.testing.assert_close(found.x[:, :n], bare.x)
        assert (found.x[:, n:] == 0).all()


def test_gradients_stay_finite_beside_padding():
    u, v = seq(2, 0, extra=3), seq(3, 1, extra=1)
    u.x.requires_grad_()
    found, other = aligned(Dot()(u, v), u, v)
    (found.x.sum() + other.x.square().sum()).backward()
    assert u.x.grad.isfinite().all()
    assert (u.x.grad[:, 2:] == 0).all()


def test_a_contrast_holds_both_their_difference_and_their_product():
    u, v = seq(2, 0), seq(2, 1)
    a, b = u.x[0, 0], v.x[0, 0]
    torch.testing.assert_close(contrasted(u, v).x[0, 0], torch.cat([a, b, a - b, a * b]))


@pytest.mark.parametrize("poison", [1e3, math.nan])
def test_mean_and_max_are_those_of_the_words_alone(poison):
    bare = seq(3, 2).x[0]
    wanted = torch.cat([bare.mean(0), bare.max(0).values])
    torch.testing.assert_close(mean_and_max(seq(3, 2, poison, extra=2))[0], wanted)


def test_a_largest_value_below_zero_is_kept():
    u = seq(2, 0, extra=2)
    below = u.with_x(-u.x.abs() - 1)
    assert (mean_and_max(below) < 0).all()
