"""Embeddings by character n-grams, and the convolution over windows of words that uses them."""

import math

import numpy as np
import pytest
import torch

from pairlight.core.errors import InputError
from pairlight.layers.basic import Linear
from pairlight.layers.char_ngrams import CharNgramEmbedding, init_glorot_uniform
from pairlight.layers.types import Seq, Tokens
from pairlight.layers.window_max import WindowMax, sum_windows

NGRAMS = torch.tensor([[0, 0, 0], [2, 3, 0], [4, 0, 0], [2, 2, 5], [0, 0, 0]], dtype=torch.int32)


@pytest.fixture
def embed():
    torch.manual_seed(0)
    return CharNgramEmbedding(6, 4).double()


def tokens(ids, mask):
    return Tokens(torch.tensor(ids), torch.tensor(mask), NGRAMS)


def test_the_vector_of_a_word_is_the_sum_of_its_ngrams_with_repetitions(embed):
    E = embed.weight
    x = embed(tokens([[1, 2], [3, 1]], [[True, True], [True, True]]))[0].x
    torch.testing.assert_close(x[0, 0], E[2] + E[3])
    torch.testing.assert_close(x[0, 1], E[4])
    torch.testing.assert_close(x[1, 0], 2 * E[2] + E[5])
    torch.testing.assert_close(x[1, 1], E[2] + E[3])


def test_a_word_without_known_ngrams_has_a_zero_vector(embed):
    assert (embed(tokens([[4]], [[True]]))[0].x == 0).all()


@pytest.mark.parametrize("poison", [1e3, math.nan])
def test_padding_has_zero_vectors_whatever_its_id_and_the_padding_row(embed, poison):
    with torch.no_grad():
        embed.weight[0] = poison
    short, long = embed(tokens([[1]], [[True]]), tokens([[1, 3, 0]], [[True, False, False]]))
    torch.testing.assert_close(long.x[:, :1], short.x)
    assert (long.x[:, 1:] == 0).all()
    assert long.ids.tolist() == [[1, 3, 0]]


def test_texts_embedded_in_one_call_equal_texts_embedded_one_by_one(embed):
    left, right = tokens([[1], [3]], [[True], [True]]), tokens([[2, 1, 4]], [[True, True, True]])
    for together, alone in zip(embed(left, right), [*embed(left), *embed(right)], strict=True):
        torch.testing.assert_close(together.x, alone.x)
        assert together.ids is alone.ids


def test_the_gradient_of_an_ngram_is_the_number_of_its_occurrences(embed):
    embed(tokens([[1, 3], [3, 2]], [[True, True], [True, False]]))[0].x.sum().backward()
    assert embed.weight.grad[:, 0].tolist() == [0, 0, 5, 1, 0, 2]


def test_texts_without_ngrams_are_rejected(embed):
    with pytest.raises(InputError, match="have no character n-grams: tokenize them with"):
        embed(Tokens(torch.tensor([[1]]), torch.tensor([[True]])))


def convolved(words: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.conv1d(words.mT, weight).mT


def window_parts(words: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """What every word contributes as the first, second and third word of a window."""
    return torch.cat([words @ weight[:, :, i].T for i in range(3)], -1)


def test_summed_windows_equal_a_convolution():
    rng = np.random.default_rng(0)
    words, weight = torch.from_numpy(rng.normal(size=(2, 5, 4))), torch.from_numpy(rng.normal(size=(6, 4, 3)))
    torch.testing.assert_close(sum_windows(window_parts(words, weight)), convolved(words, weight))


@pytest.mark.parametrize("poison", [1e3, math.nan])
def test_window_max_is_the_maximum_over_the_words_of_each_text(poison):
    rng = np.random.default_rng(0)
    words, weight = torch.from_numpy(rng.normal(size=(2, 5, 4))), torch.from_numpy(rng.normal(size=(6, 4, 3)))
    lengths = [5, 3]
    mask = torch.arange(7) < torch.tensor(lengths)[:, None]
    x = torch.nn.functional.pad(window_parts(words, weight), (0, 0, 0, 2)).masked_fill(~mask[..., None], poison)
    v = WindowMax()(Seq(x, mask, mask.long()))
    for row, n in enumerate(lengths):
        padded = torch.nn.functional.pad(words[row : row + 1, :n], (0, 0, 1, 1))
        torch.testing.assert_close(v[row], convolved(padded, weight)[0].amax(0))


def test_glorot_initialization_fills_its_range_and_leaves_vectors():
    layer = Linear(60, 36)
    torch.nn.init.ones_(layer.bias)
    init_glorot_uniform(layer)
    assert 0.24 < layer.weight.abs().max() <= 0.25
    assert (layer.bias == 1).all()


@pytest.mark.parametrize("window", [1, 3])
def test_the_matrix_of_a_window_is_initialized_within_its_own_range(window):
    torch.manual_seed(0)
    embed = CharNgramEmbedding(500, 20, window)
    init_glorot_uniform(embed)
    bound = (6 / (window * 500 + 20)) ** 0.5  # the n-grams of all words of a window are the rows of the matrix
    largest = embed.weight.abs().max().item()
    assert 0.99 * bound < largest <= bound
