"""Grids of any size are pooled to one size, in segments of each pair's own lengths."""

import numpy as np
import pytest
import torch

from pairlight.layers.grid_pool import GridPool, segments
from pairlight.layers.types import Grid


def covered(length: int, count: int, doubling: bool = False) -> list[list[int]]:
    return [sorted(set(segment)) for segment in segments(torch.tensor([length]), count, doubling)[0].tolist()]


def grid(sizes: list[tuple[int, int]], channels: int, poison: float, extra: int = 0) -> Grid:
    rows, columns = (max(side) + extra for side in zip(*sizes, strict=True))
    x = torch.full((len(sizes), channels, rows, columns), poison, dtype=torch.float64)
    mask = torch.zeros(len(sizes), rows, columns, dtype=torch.bool)
    rng = np.random.default_rng(5)
    for b, (n, m) in enumerate(sizes):
        x[b, :, :n, :m] = torch.from_numpy(rng.normal(size=(channels, n, m)))
        mask[b, :n, :m] = True
    return Grid(x, mask)


SIZES = [(1, 1), (2, 9), (7, 3), (9, 20), (3, 4)]


def test_the_last_segments_are_the_longer_ones():
    assert covered(7, 3) == [[0, 1], [2, 3], [4, 5, 6]]
    assert [segment[0] for segment in covered(17, 5)] == [0, 3, 6, 9, 13]


def test_a_short_text_starts_over():
    assert covered(2, 3) == [[0], [1], [0]]
    assert covered(3, 5) == [[0], [1], [2], [0], [1]]


def test_with_doubling_every_position_of_a_short_text_is_doubled():
    assert covered(4, 15, doubling=True) == [[0]] * 4 + [[1]] * 4 + [[2]] * 4 + [[3]] * 3
    assert covered(3, 5, doubling=True) == [[0], [0], [1], [1], [2]]
    assert covered(1, 3, doubling=True) == [[0]] * 3


def test_each_text_of_a_batch_is_divided_by_its_own_length():
    lengths = [1, 2, 5, 17, 30]
    for doubling in (False, True):
        together = segments(torch.tensor(lengths), 5, doubling)
        for row, length in zip(together, lengths, strict=True):
            assert [sorted(set(segment)) for segment in row.tolist()] == covered(length, 5, doubling)


@pytest.mark.parametrize("doubling", [False, True])
@pytest.mark.parametrize("poison", [1e3, float("nan")])
def test_the_pooled_grid_equals_plain_loops_and_never_reads_padding(poison, doubling):
    s = grid(SIZES, 2, poison, extra=2)
    z = GridPool(3, 4, doubling)(s)
    assert z.mask.shape == (len(SIZES), 3, 4)
    assert z.mask.all()
    for b, (n, m) in enumerate(SIZES):
        for p, rows in enumerate(covered(n, 3, doubling)):
            for q, columns in enumerate(covered(m, 4, doubling)):
                cells = s.x[b][:, rows][:, :, columns]
                np.testing.assert_array_equal(z.x[b, :, p, q], cells.amax((1, 2)))


def test_only_the_largest_cell_gets_a_gradient():
    x = torch.arange(12.0).view(1, 1, 3, 4).requires_grad_()
    GridPool(1, 2)(Grid(x, torch.ones(1, 3, 4, dtype=torch.bool))).x.sum().backward()
    assert x.grad.nonzero().tolist() == [[0, 0, 2, 1], [0, 0, 2, 3]]
