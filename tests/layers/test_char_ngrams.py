import math

import numpy as np
import pytest
import torch

from pairlight.core.errors import InputError
from pairlight.layers.types import Tokens
from pairlight.layers.char_ngrams import CharNgramEmbedding, glorot, windows_of_three

SPELLING = torch.tensor([[0, 0, 0], [2, 3, 0], [4, 0, 0], [2, 2, 5], [0, 0, 0]], dtype=torch.int32)


@pytest.fixture
def spelt():
    torch.manual_seed(0)
    return CharNgramEmbedding(6, 4).double()


def tokens(ids, mask):
    return Tokens(torch.tensor(ids), torch.tensor(mask), SPELLING)


def test_a_word_is_the_sum_of_its_pieces_each_as_often_as_it_comes(spelt):
    E = spelt.table.weight
    x = spelt(tokens([[1, 2], [3, 1]], [[True, True], [True, True]]))[0].x
    torch.testing.assert_close(x[0, 0], E[2] + E[3])
    torch.testing.assert_close(x[0, 1], E[4])
    torch.testing.assert_close(x[1, 0], 2 * E[2] + E[5])
    torch.testing.assert_close(x[1, 1], E[2] + E[3])


def test_a_word_without_known_pieces_is_zero(spelt):
    assert (spelt(tokens([[4]], [[True]]))[0].x == 0).all()


@pytest.mark.parametrize("poison", [1e3, math.nan])
def test_padding_is_silent_whatever_number_or_row_stands_there(spelt, poison):
    with torch.no_grad():
        spelt.table.weight[0] = poison
    short, long = spelt(tokens([[1]], [[True]]), tokens([[1, 3, 0]], [[True, False, False]]))
    torch.testing.assert_close(long.x[:, :1], short.x)
    assert (long.x[:, 1:] == 0).all()
    assert long.ids.tolist() == [[1, 3, 0]]


def test_texts_given_together_are_as_each_alone(spelt):
    left, right = tokens([[1], [3]], [[True], [True]]), tokens([[2, 1, 4]], [[True, True, True]])
    for together, alone in zip(spelt(left, right), [*spelt(left), *spelt(right)], strict=True):
        torch.testing.assert_close(together.x, alone.x)
        assert together.ids is alone.ids


def test_the_gradient_is_the_count_of_each_piece(spelt):
    spelt(tokens([[1, 3], [3, 2]], [[True, True], [True, False]]))[0].x.sum().backward()
    assert spelt.table.weight.grad[:, 0].tolist() == [0, 0, 5, 1, 0, 2]


def test_texts_without_spelling_are_refused(spelt):
    with pytest.raises(InputError, match="view of letters"):
        spelt(Tokens(torch.tensor([[1]]), torch.tensor([[True]])))


def test_windows_of_three_equal_a_convolution():
    rng = np.random.default_rng(0)
    words, weight = torch.from_numpy(rng.normal(size=(2, 5, 4))), torch.from_numpy(rng.normal(size=(6, 4, 3)))
    given = torch.cat([words @ weight[:, :, i].T for i in range(3)], -1)  # [2, 5, 3·6]
    expected = torch.nn.functional.conv1d(words.mT, weight).mT
    torch.testing.assert_close(windows_of_three(given), expected)


def test_glorot_fills_its_range_and_leaves_vectors():
    layer = torch.nn.Linear(60, 36)
    torch.nn.init.ones_(layer.bias)
    glorot(layer)
    assert 0.24 < layer.weight.abs().max() <= 0.25
    assert (layer.bias == 1).all()


@pytest.mark.parametrize("window", [1, 3])
def test_the_matrix_of_a_window_starts_within_its_own_range(window):
    torch.manual_seed(0)
    spelt = CharNgramEmbedding(500, 20, window)
    glorot(spelt)
    bound = (6 / (window * 500 + 20)) ** 0.5  # its matrix has the pieces of all words of a window as rows
    largest = spelt.table.weight.abs().max().item()
    assert 0.99 * bound < largest <= bound
