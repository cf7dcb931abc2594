"""ARC's layers equal plain convolutions over texts of a fixed length, and never read padding."""

import pytest
import torch
from torch.nn import functional as F

from layers.toy import DIM, seq
from pairlight.core.errors import InputError
from pairlight.layers.conv_pool import (
    ConvPool,
    ConvPoolCNN,
    GridConvPool,
    GridConvPoolCNN,
    max_pool_pairs,
    pooled_lengths,
)
from pairlight.layers.types import Grid, Seq, masked_grid

LENGTHS = [5, 1, 3, 0, 9]
poisons = pytest.mark.parametrize("poison", [1e3, float("nan")])


def made(kind, *sizes):
    torch.manual_seed(0)
    return kind(*sizes).double()


def grid(rows: list[int], columns: list[int], poison: float = 0.0, extra: int = 0) -> Grid:
    u, v = seq(rows, extra=extra), seq(columns, extra=extra)
    x = (u.x[:, None] @ v.x[:, None].mT).repeat(1, 2, 1, 1) * torch.tensor([1.0, -0.5])[:, None, None]
    s = masked_grid(u, v, x)
    return Grid(s.x.masked_fill(~s.mask[:, None], poison), s.mask)


def test_pooling_keeps_the_larger_of_two_and_an_odd_last_position():
    x = torch.tensor([[-4.0, -1, 5, 2, -3], [-2, -3, -1, 0, 0]])[..., None]
    mask = torch.arange(5) < torch.tensor([[5], [3]])
    u = max_pool_pairs(Seq(x, mask, mask.long()))
    assert u.x[..., 0].tolist() == [[-1, 5, -3], [-2, -1, 0]]
    assert u.mask.tolist() == [[True, True, True], [True, True, False]]


@pytest.mark.parametrize("length", [4, 6, 7, 12])
def test_a_layer_equals_a_convolution_over_texts_filled_up_to_the_fixed_length(length):
    layer, u = made(ConvPool, DIM, 4, 3, length), seq(LENGTHS)
    fixed = F.pad(u.x, (0, 0, 0, length - u.x.shape[1]))  # a negative size truncates
    weight = layer.conv.filters.weight.view(4, 3, DIM).mT
    y = F.conv1d(fixed.mT, weight, layer.conv.filters.bias)
    starts_inside = torch.arange(y.shape[2]) < u.lengths[:, None]
    expected = F.max_pool1d(y.relu().masked_fill(~starts_inside[:, None], 0), 2, ceil_mode=True).mT
    got = layer(u)
    assert torch.equal(got.lengths, (u.lengths.clamp(max=length - 2) + 1) // 2)
    torch.testing.assert_close(F.pad(got.x.relu(), (0, 0, 0, expected.shape[1] - got.x.shape[1])), expected)


@pytest.mark.parametrize("length", [4, 6, 7, 12])
def test_a_grid_layer_equals_a_convolution_over_a_grid_of_fixed_size(length):
    layer, s = made(GridConvPool, 2, 4, 3, length), grid(LENGTHS, LENGTHS[::-1])
    extra = length - s.x.shape[2]
    y = layer.filters(F.pad(s.x, (0, extra, 0, extra)))
    starts_inside = F.pad(s.mask, (0, extra, 0, extra))[:, None, : length - 2, : length - 2]
    expected = F.max_pool2d(y.relu().masked_fill(~starts_inside, 0), 2, ceil_mode=True)
    got = layer(s).x.relu()
    torch.testing.assert_close(
        F.pad(got, (0, expected.shape[3] - got.shape[3], 0, expected.shape[2] - got.shape[2])), expected
    )


@poisons
def test_padding_of_a_text_is_never_read(poison):
    for length in (7, 20):
        cnn = made(ConvPoolCNN, DIM, 4, 3, 2, length)
        got = cnn(seq(LENGTHS, poison, extra=4))
        torch.testing.assert_close(got, cnn(seq(LENGTHS)))
        assert got.shape == (5, cnn.features)
        got.sum().backward()
        assert all(p.grad.isfinite().all() for p in cnn.parameters())


@poisons
def test_padding_of_a_grid_is_never_read(poison):
    for length in (7, 20):
        cnn = made(GridConvPoolCNN, 2, 3, pooled_lengths(length, 3, 2))
        got = cnn(grid(LENGTHS, LENGTHS[::-1], poison, extra=4))
        torch.testing.assert_close(got, cnn(grid(LENGTHS, LENGTHS[::-1])))
        assert got.shape == (5, cnn.features)
        got.sum().backward()
        assert all(p.grad.isfinite().all() for p in cnn.parameters())


def test_an_empty_text_gives_zeros():
    assert not made(ConvPoolCNN, DIM, 4, 3, 2, 20)(seq(LENGTHS))[3].any()


def test_lengths_are_halved_by_every_layer():
    assert pooled_lengths(50, 3, 2) == [50, 24, 11]
    assert pooled_lengths(50, 3, 3) == [50, 24, 11, 5]
    assert pooled_lengths(15, 3, 3)[-1] == 1


def test_a_length_too_short_for_the_layers_is_rejected_with_the_minimum():
    with pytest.raises(InputError, match="length=14 is too short for 3 layers of width 3: use at least 15"):
        pooled_lengths(14, 3, 3)
