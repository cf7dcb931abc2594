"""The similarities of MultiGranCNN equal their formulas and are zero under padding."""

import numpy as np
import pytest
import torch

from pairlight.core.errors import InputError
from pairlight.layers.similarity import build_similarity
from pairlight.layers.types import Seq


def texts(lengths: list[int], seed: int, poison: float) -> Seq:
    mask = torch.arange(max(lengths) + 1) < torch.tensor(lengths)[:, None]
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(*mask.shape, 3)))
    return Seq(x.masked_fill(~mask[..., None], poison), mask, torch.zeros_like(mask, dtype=torch.int64))


@pytest.mark.parametrize("poison", [1e3, float("nan")])
@pytest.mark.parametrize("name", ["direct", "indirect", "concat"])
def test_a_similarity_equals_its_formula_and_is_zero_under_padding(name, poison):
    torch.manual_seed(0)
    layer = build_similarity(name, 3).double()
    u, v = texts([2, 4], 1, poison), texts([5, 1, 3, 2], 2, poison)
    s = layer(u, v)
    weights = {key: value.detach().numpy() for key, value in layer.state_dict().items()}
    assert (s.x[:, 0][~s.mask] == 0).all()
    assert s.mask.sum().item() == 2 * 5 + 4 * 1 + 2 * 3 + 4 * 2
    for b, i, j in s.mask.nonzero().tolist():
        x, y = u.x[b % 2, i].numpy(), v.x[b, j].numpy()
        if name == "direct":
            expected = np.exp(-((x - y) ** 2).sum() / 4)
        elif name == "indirect":
            expected = 1 / (1 + np.exp(-(x @ weights["inner.weight"] @ y + weights["inner.bias"][0])))
        else:
            sides = weights["inner.left.weight"][0] @ x + weights["inner.right.weight"][0] @ y
            expected = 1 / (1 + np.exp(-(sides + weights["inner.left.bias"][0])))
        np.testing.assert_allclose(s.x[b, 0, i, j].item(), expected, rtol=1e-12)


def test_an_unknown_similarity_is_rejected_with_the_known_ones():
    with pytest.raises(InputError, match="Choose from: direct, indirect, concat"):
        build_similarity("cosine", 3)
