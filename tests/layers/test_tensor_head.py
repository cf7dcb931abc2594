"""The neural tensor layers equal their formulas."""

import pytest
import torch

from pairlight.layers.tensor_head import SymmetricTensorScore, TensorScore

DIM, CHANNELS = 4, 3


@pytest.fixture
def pair() -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    return torch.randn(2, DIM, generator=draw), torch.randn(4, DIM, generator=draw)


def test_the_score_equals_its_formula_with_right_text_r_paired_with_left_text_r_mod_b(pair):
    u, v = pair
    layer = TensorScore(DIM, CHANNELS)
    torch.nn.init.normal_(layer.bias)
    for r in range(4):
        a, b = u[r % 2], v[r]
        slices = [
            a @ M @ b + V @ torch.cat([a, b]) + c
            for M, V, c in zip(layer.weight, layer.linear, layer.bias, strict=True)
        ]
        torch.testing.assert_close(layer(u, v)[r], layer.out(torch.stack(slices).tanh())[0])


def test_the_symmetric_score_equals_its_formula_and_does_not_change_when_texts_are_swapped(pair):
    u, v = pair
    layer = SymmetricTensorScore(DIM, CHANNELS)
    for r in range(4):
        a, b = u[r % 2], v[r]
        slices = [a @ T.T @ T @ b + V @ (a + b) for T, V in zip(layer.weight, layer.linear, strict=True)]
        torch.testing.assert_close(layer(u, v)[r], layer.out(torch.stack(slices).tanh())[0])
    torch.testing.assert_close(layer(v[:2], u), layer(u, v[:2]))
