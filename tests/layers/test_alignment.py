"""Soft alignment, comparison and pooling of ESIM never read padding."""

import math

import pytest
import torch

from layers.toy import seq
from pairlight.layers.alignment import SoftAlignment, compare, fused_comparison, mean_max_pool
from pairlight.layers.basic import Linear, ReLU, Sequential
from pairlight.layers.interactions import Dot
from pairlight.layers.types import tile_left

align = SoftAlignment()


def test_a_word_is_aligned_with_a_mixture_of_the_other_text():
    u, v = seq([2], seed=0), seq([3], seed=1)
    u_aligned, v_aligned = align(Dot()(u, v), u, v)
    for i in range(2):
        attention = torch.softmax(v.x[0] @ u.x[0, i], 0)
        torch.testing.assert_close(u_aligned.x[0, i], attention @ v.x[0])
    for j in range(3):
        attention = torch.softmax(u.x[0] @ v.x[0, j], 0)
        torch.testing.assert_close(v_aligned.x[0, j], attention @ u.x[0])


def test_the_attention_of_every_word_sums_to_one():
    u, v = seq([2, 3], extra=1, seed=0), seq([3, 1], extra=2, seed=1)
    to_right, to_left = align.weights(Dot()(u, v))
    torch.testing.assert_close(to_right.sum(2)[u.mask], torch.ones(5, dtype=torch.float64))
    torch.testing.assert_close(to_left.sum(1)[v.mask], torch.ones(4, dtype=torch.float64))


@pytest.mark.parametrize("poison", [1e3, math.nan])
def test_nothing_is_aligned_with_padding(poison):
    u, v = seq([2], poison, extra=3, seed=0), seq([3], poison, extra=1, seed=1)
    bare_u, bare_v = seq([2], seed=0), seq([3], seed=1)
    expected = align(Dot()(bare_u, bare_v), bare_u, bare_v)
    for aligned, bare in zip(align(Dot()(u, v), u, v), expected, strict=True):
        n = bare.x.shape[1]
        torch.testing.assert_close(aligned.x[:, :n], bare.x)
        assert (aligned.x[:, n:] == 0).all()


def test_gradients_are_finite_with_padding():
    u, v = seq([2], extra=3, seed=0), seq([3], extra=1, seed=1)
    u.x.requires_grad_()
    u_aligned, v_aligned = align(Dot()(u, v), u, v)
    (u_aligned.x.sum() + v_aligned.x.square().sum()).backward()
    assert u.x.grad.isfinite().all()
    assert (u.x.grad[:, 2:] == 0).all()


def test_a_comparison_contains_both_vectors_their_difference_and_their_product():
    u, v = seq([2], seed=0), seq([2], seed=1)
    a, b = u.x[0, 0], v.x[0, 0]
    torch.testing.assert_close(compare(u, v).x[0, 0], torch.cat([a, b, a - b, a * b]))


@pytest.mark.parametrize("extra", [0, 2])
def test_a_fused_comparison_equals_the_projection_of_the_comparison(extra):
    torch.manual_seed(0)
    whole, right = seq([2, 3], extra=extra, seed=0), seq([3, 1, 2, 4], extra=extra, seed=1)
    whole.x.requires_grad_()
    u, v = tile_left(whole, right)
    aligned = align(Dot()(u, v), u, v)[0]
    project = Sequential(Linear(4 * u.x.shape[-1], 5), ReLU()).double()
    m = compare(u, aligned)
    plain, fused = m.with_x(project(m.x)), fused_comparison(project, whole, u, aligned)
    torch.testing.assert_close(fused.x, plain.x)
    assert (fused.x[~u.mask] == 0).all()
    inputs = [whole.x, *project.parameters()]
    for a, b in zip(
        *(torch.autograd.grad(y.x.square().sum(), inputs, retain_graph=True) for y in (fused, plain)), strict=True
    ):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("poison", [1e3, math.nan])
def test_mean_and_max_are_those_of_the_words_only(poison):
    bare = seq([3], seed=2).x[0]
    expected = torch.cat([bare.mean(0), bare.max(0).values])
    torch.testing.assert_close(mean_max_pool(seq([3], poison, extra=2, seed=2))[0], expected)


def test_a_maximum_below_zero_is_kept():
    u = seq([2], extra=2, seed=0)
    below = u.with_x(-u.x.abs() - 1)
    assert (mean_max_pool(below) < 0).all()
