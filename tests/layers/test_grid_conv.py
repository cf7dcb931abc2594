"""The convolution of a padded grid equals that of the grid without padding."""

import numpy as np
import pytest
import torch

from pairlight.layers.grid_conv import GridConv
from pairlight.layers.types import Grid


@pytest.mark.parametrize("poison", [1e3, float("nan")])
@pytest.mark.parametrize("window", [(1, 1), (3, 3), (2, 2), (2, 4), (5, 3)])
def test_it_equals_plain_loops_and_is_zero_under_padding(window, poison):
    torch.manual_seed(0)
    conv = GridConv(2, 3, *window).double()
    W, bias = conv.filters.weight.detach().numpy(), conv.filters.bias.detach().numpy()
    sizes = [(1, 1), (4, 6), (2, 3)]
    x = torch.full((3, 2, 5, 8), poison, dtype=torch.float64)
    mask = torch.zeros(3, 5, 8, dtype=torch.bool)
    for b, (n, m) in enumerate(sizes):
        x[b, :, :n, :m] = torch.randn(2, n, m, dtype=torch.float64)
        mask[b, :n, :m] = True
    z = conv(Grid(x, mask)).x.detach()
    assert (z.masked_select(~mask[:, None]) == 0).all()
    rows_before, columns_before = (window[0] - 1) // 2, (window[1] - 1) // 2
    for b, (n, m) in enumerate(sizes):
        for i in range(n):
            for j in range(m):
                total = bias.copy()
                for a in range(window[0]):
                    for c in range(window[1]):
                        row, column = i + a - rows_before, j + c - columns_before
                        if 0 <= row < n and 0 <= column < m:
                            total += W[:, :, a, c] @ x[b, :, row, column].numpy()
                np.testing.assert_allclose(z[b, :, i, j], total, rtol=1e-12)


def test_selected_cells_have_the_values_and_gradients_of_the_whole_grid():
    torch.manual_seed(0)
    conv = GridConv(2, 3, 2, 3).double()
    x = torch.randn(2, 2, 5, 8, dtype=torch.float64, requires_grad=True)
    mask = torch.ones(2, 5, 8, dtype=torch.bool)
    mask[1, 3:] = False
    s, i, j = Grid(x, mask), torch.tensor([[0, 4], [2, 1]]), torch.tensor([[7, 3], [0, 0]])
    whole, selected = conv(s).x[torch.arange(2)[:, None], :, i, j], conv.at(s, i, j)
    torch.testing.assert_close(selected, whole)
    weights = [x, *conv.parameters()]
    for one, two in zip(
        torch.autograd.grad(selected.square().sum(), weights),
        torch.autograd.grad(whole.square().sum(), weights),
        strict=True,
    ):
        torch.testing.assert_close(one, two)
