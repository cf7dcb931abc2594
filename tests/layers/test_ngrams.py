"""Word n-grams of several lengths and their cosines never read padding."""

import math

import pytest
import torch

from layers.toy import DIM, seq
from pairlight.layers.ngrams import NgramConv, NgramCosine

FILTERS, LONGEST = 4, 2


@pytest.fixture
def encode() -> NgramConv:
    torch.manual_seed(0)
    return NgramConv(DIM, FILTERS, LONGEST).double()


def test_an_ngram_starts_at_every_word_and_is_filled_up_with_zeros(encode):
    u = seq([3], seed=1)
    conv = encode.convs[1].filters
    last = torch.relu(conv.weight @ torch.cat([u.x[0, 2], torch.zeros(DIM).double()]) + conv.bias)
    torch.testing.assert_close(encode(u).x[0, 2, FILTERS:], last)
    assert encode(u).x.shape == (1, 3, LONGEST * FILTERS)


def test_every_pair_of_lengths_has_a_channel_ordered_by_the_left_length_first(encode):
    u, v = encode(seq([3, 2], seed=1)), encode(seq([4, 1], seed=2))
    s = NgramCosine(LONGEST)(u, v)
    assert s.x.shape == (2, 4, 3, 4)
    for channel, (p, q) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        g = u.x[0, 2, p * FILTERS : (p + 1) * FILTERS]
        h = v.x[0, 3, q * FILTERS : (q + 1) * FILTERS]
        expected = torch.nn.functional.cosine_similarity(g, h, dim=0)
        torch.testing.assert_close(s.x[0, channel, 2, 3], expected)


def test_one_left_text_may_be_paired_with_several_right_texts(encode):
    u, v = encode(seq([3, 2], seed=1)), encode(seq([4, 1, 2, 4], seed=2))
    torch.testing.assert_close(NgramCosine(LONGEST)(u, v).x, NgramCosine(LONGEST)(u.tile(2), v).x)


@pytest.mark.parametrize("poison", [1e3, math.nan])
def test_padding_is_never_read(encode, poison):
    u, v = seq([3, 2], poison, extra=2, seed=1), seq([2, 4], poison, extra=1, seed=2)
    padded = NgramCosine(LONGEST)(encode(u), encode(v))
    bare = NgramCosine(LONGEST)(encode(seq([3, 2], seed=1)), encode(seq([2, 4], seed=2)))
    torch.testing.assert_close(padded.x[..., :3, :4], bare.x)
    assert (padded.x[..., 3:, :] == 0).all()
    assert (padded.x[1, :, 2:] == 0).all()


@pytest.mark.parametrize("poison", [1e3, math.nan])
def test_the_grid_is_zero_under_padding_even_if_the_vectors_are_not(poison):
    s = NgramCosine(1)(seq([3, 2], poison, seed=1), seq([2, 3], poison, seed=2))
    assert s.x.isfinite().all()
    assert (s.x[1, :, 2:] == 0).all()
