"""The words, phrases and whole of a text in one sequence, without reading padding."""

import numpy as np
import pytest
import torch

from pairlight.layers.phrases import Phrases, concat_seqs
from pairlight.layers.types import Seq


def texts(lengths: list[int], dim: int, poison: float) -> Seq:
    rng = np.random.default_rng(3)
    mask = torch.arange(max(lengths) + 2) < torch.tensor(lengths)[:, None]
    x = torch.from_numpy(rng.normal(size=(len(lengths), max(lengths) + 2, dim)))
    return Seq(x.masked_fill(~mask[..., None], poison), mask, torch.zeros_like(mask, dtype=torch.int64))


@pytest.mark.parametrize("poison", [0.0, 1e3, float("nan")])
def test_ten_words_give_thirty_eight_units_and_padding_is_never_read(poison):
    torch.manual_seed(0)
    phrases = Phrases(4, 3, 3, 4, torch.tanh).double()
    lengths = [10, 1, 5]
    together = phrases(texts(lengths, 4, poison))
    assert together.lengths.tolist()[0] == 10 + 12 + 9 + 6 + 1
    for row, n in enumerate(lengths):
        u = texts(lengths, 4, poison)
        alone = phrases(Seq(u.x[row : row + 1, :n], u.mask[row : row + 1, :n], u.ids[row : row + 1, :n]))
        assert alone.mask.all()
        np.testing.assert_allclose(together.x[row, : alone.x.shape[1]].detach(), alone.x[0].detach(), rtol=1e-12)
        np.testing.assert_array_equal(alone.x[0, :n].detach(), u.x[row, :n])
        assert (together.x[row, alone.x.shape[1] :] == 0).all()


def test_sequences_are_concatenated_without_padding_in_between():
    first, second = texts([3, 1], 2, 1e3), texts([1, 2], 2, 1e3)
    both = concat_seqs([first, second])
    assert both.mask.tolist() == [[True] * 4, [True] * 3 + [False]]
    np.testing.assert_array_equal(both.x[1, :3], torch.cat([first.x[1, :1], second.x[1, :2]]))
    assert (both.x[1, 3] == 0).all()
