"""Kernels count the similarities near their center, and padding is not counted."""

import math

import pytest
import torch

from layers.toy import DIM, seq
from pairlight.layers.kernel_pooling import KernelPooling, fused_kernel_pooling
from pairlight.layers.ngrams import NgramConv, NgramCosine
from pairlight.layers.types import Grid, tile_left_vectors


def grid(values: list[list[float]], poison: float = 0.0, extra: int = 0) -> Grid:
    s = torch.tensor(values, dtype=torch.float64)
    L, R = s.shape
    x = torch.full((1, 2, L + extra, R + extra), poison, dtype=torch.float64)
    x[0, 0, :L, :R], x[0, 1, :L, :R] = s, -s
    mask = torch.zeros(1, L + extra, R + extra, dtype=torch.bool)
    mask[:, :L, :R] = True
    return Grid(x, mask)


def ones(count: int, extra: int = 0, poison: float = 0.0) -> torch.Tensor:
    return torch.tensor([[1.0] * count + [poison] * extra], dtype=torch.float64)


def test_eleven_kernels_are_those_of_the_paper():
    layer = KernelPooling(11)
    assert layer.mu == pytest.approx([1, 0.9, 0.7, 0.5, 0.3, 0.1, -0.1, -0.3, -0.5, -0.7, -0.9])
    assert layer.sigma == pytest.approx([0.001, *[0.1] * 10])


def test_two_identical_words_give_the_hand_worked_features():
    phi = KernelPooling(11)(grid([[1.0]]), ones(1), ones(1))[0]
    assert phi[0] == 0
    assert phi[1] == pytest.approx(0.01 * -0.5)
    assert phi[2] == pytest.approx(0.01 * -4.5)
    assert phi[11] == pytest.approx(0.01 * math.log(1e-10))  # the second channel has -1, far from the kernel at 1


def test_a_single_kernel_counts_identical_words_only():
    phi = KernelPooling(1)(grid([[1.0, 1.0], [1.0, 0.9]]), ones(2), ones(2))
    assert phi[0, 0] == pytest.approx(0.01 * math.log(2))


def test_attention_weights_apply_to_logarithms_of_left_words_and_kernels_of_right_words():
    a, b = torch.tensor([[0.5, 2.0]]).double(), torch.tensor([[3.0, 1.0]]).double()
    phi = KernelPooling(1)(grid([[1.0, 1.0], [1.0, 0.9]]), a, b)
    assert phi[0, 0] == pytest.approx(0.01 * (0.5 * math.log(4) + 2 * math.log(3)))


@pytest.mark.parametrize("poison", [1e3, math.nan])
def test_padding_is_never_counted(poison):
    values = [[0.3, -0.2, 1.0], [0.0, 0.95, 0.1]]
    padded = KernelPooling(11)(grid(values, poison, extra=2), ones(2, 2, poison), ones(3, 2, poison))
    torch.testing.assert_close(padded, KernelPooling(11)(grid(values), ones(2), ones(3)))


def test_the_gradient_of_the_similarities_is_correct():
    s = grid([[0.3, -0.2]])
    s.x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: KernelPooling(4)(Grid(x, s.mask), ones(1), ones(2)), s.x)


@pytest.mark.parametrize("extra", [0, 2])
def test_fused_pooling_equals_the_pooling_of_the_grid(extra):
    torch.manual_seed(0)
    encode, interact, aggregate = NgramConv(DIM, 4, 2).double(), NgramCosine(2), KernelPooling(5)
    u, v = encode(seq([3, 2], extra=extra, seed=1)), encode(seq([4, 1, 2, 4], extra=extra, seed=2))
    a, b = tile_left_vectors(torch.rand(u.mask.shape).double(), torch.rand(v.mask.shape).double())
    fused, plain = fused_kernel_pooling(interact, aggregate, u, v, a, b), aggregate(interact(u, v), a, b)
    torch.testing.assert_close(fused, plain)
    parameters = list(encode.parameters())
    weight = torch.randn_like(plain)
    for x, y in zip(
        *(torch.autograd.grad((phi * weight).sum(), parameters, retain_graph=True) for phi in (fused, plain)),
        strict=True,
    ):
        torch.testing.assert_close(x, y)
