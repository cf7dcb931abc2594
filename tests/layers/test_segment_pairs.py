"""The grid of segment pairs equals the pooled grid of all pairs, and never reads padding."""

import pytest
import torch
from torch.nn import functional as F

from layers.toy import DIM, seq
from pairlight.layers.segment_pairs import SegmentPairs

LENGTHS = [5, 1, 3], [2, 7, 4]


def made(length: int) -> SegmentPairs:
    torch.manual_seed(0)
    return SegmentPairs(DIM, 4, 3, length).double()


def test_it_equals_max_pooling_over_all_pairs_of_segments():
    layer, u, v = made(6), seq(LENGTHS[0], seed=1), seq(LENGTHS[1], seed=2)
    s = layer(u, v)
    A, B = layer.left.conv.filters, layer.right.conv.filters

    def starts(n: int) -> range:
        return range(min(n, 6 - 3 + 1))

    for pair in range(3):
        n, m = LENGTHS[0][pair], LENGTHS[1][pair]
        x, y = (F.pad(text, (0, 0, 0, 9))[:6] for text in (u.x[pair, :n], v.x[pair, :m]))
        grid = torch.stack(
            [
                torch.stack(
                    [
                        torch.relu(A.weight @ x[i : i + 3].flatten() + B.weight @ y[j : j + 3].flatten() + B.bias)
                        for j in starts(m)
                    ],
                    1,
                )
                for i in starts(n)
            ],
            1,
        )  # [maps, rows, columns]
        expected = F.max_pool2d(grid[None], 2, ceil_mode=True)[0]
        _, rows, columns = expected.shape
        torch.testing.assert_close(s.x[pair, :, :rows, :columns], expected)
        assert s.mask[pair].sum() == rows * columns


@pytest.mark.parametrize("poison", [1e3, float("nan")])
def test_padding_is_never_read(poison):
    for length in (6, 20):
        layer = made(length)
        clean = layer(seq(LENGTHS[0], seed=1), seq(LENGTHS[1], seed=2))
        dirty = layer(seq(LENGTHS[0], poison, extra=3, seed=1), seq(LENGTHS[1], poison, extra=2, seed=2))
        _, _, L, R = clean.x.shape
        torch.testing.assert_close(dirty.x[:, :, :L, :R], clean.x)
        assert not dirty.x[:, :, L:].any()
        assert not dirty.x[..., R:].any()
