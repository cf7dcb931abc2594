"""Coverage and the cosine of means against hand-worked values, with poisoned padding."""

import numpy as np
import torch

from pairlight.layers.overlap import Coverage, MeanCosine
from pairlight.layers.types import Grid, Seq


def test_coverage_is_the_weighted_mean_of_the_row_and_column_maxima():
    x = torch.tensor([[[[0.5, 0.1, 9.0], [0.2, 0.9, 9.0], [9.0, 9.0, 9.0]]]])
    mask = torch.tensor([[[True, True, False], [True, True, False], [False, False, False]]])
    a, b = torch.tensor([[1.0, 3.0, 0.0]]), torch.tensor([[2.0, 2.0, 0.0]])
    left, right = Coverage()(Grid(x, mask), a, b)[0].tolist()
    np.testing.assert_allclose([left, right], [(0.5 + 3 * 0.9) / 4, (2 * 0.5 + 2 * 0.9) / 4], rtol=1e-6)


def test_the_cosine_of_means_ignores_padding_and_tiles_the_left_text():
    u = Seq(torch.tensor([[[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]]), torch.tensor([[True, True, False]]), torch.ones(1, 3))
    right = torch.tensor([[[3.0, 4.0]], [[-4.0, 3.0]]])
    v = Seq(right, torch.ones(2, 1, dtype=torch.bool), torch.ones(2, 1))
    np.testing.assert_allclose(MeanCosine()(u, v)[:, 0].tolist(), [1.0, 0.0], atol=1e-6)
