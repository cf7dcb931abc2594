"""The grid CNN gives vectors of one size for grids of any size, and never reads padding."""

import numpy as np
import pytest
import torch

from pairlight.layers.grid_cnn import GridCNN
from pairlight.layers.types import Grid


@pytest.mark.parametrize("poison", [0.0, 1e3, float("nan")])
@pytest.mark.parametrize("blocks", [[], [(2, 4)], [(2, 4), (3, 2)]])
def test_a_grid_in_a_batch_equals_the_grid_alone(blocks, poison):
    torch.manual_seed(0)
    cnn = GridCNN(5, blocks, 3).double()
    sizes = [(1, 1), (9, 4), (6, 12)]
    x = torch.full((3, 1, 10, 14), poison, dtype=torch.float64)
    mask = torch.zeros(3, 10, 14, dtype=torch.bool)
    for b, (n, m) in enumerate(sizes):
        x[b, :, :n, :m] = torch.randn(1, n, m, dtype=torch.float64)
        mask[b, :n, :m] = True
    together = cnn(Grid(x, mask)).detach()
    assert together.shape == (3, cnn.features)
    for b, (n, m) in enumerate(sizes):
        alone = cnn(Grid(x[b : b + 1, :, :n, :m], mask[b : b + 1, :n, :m])).detach()
        np.testing.assert_allclose(together[b], alone[0], rtol=1e-12)


def test_windows_are_all_that_overlap_the_grid():
    cnn = GridCNN(1, [(1, 3)], 3).double()
    with torch.no_grad():
        cnn.convs[0].bias.zero_()
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    z = cnn(Grid(one[None], one.bool())).detach().view(3, 3)
    np.testing.assert_allclose(z, cnn.convs[0].weight.detach()[0, 0].flip(0, 1).tanh())
