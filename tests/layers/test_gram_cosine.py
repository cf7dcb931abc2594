"""Phrases of all lengths meet, each beginning at a word of its text."""

import math

import pytest
import torch

from pairlight.layers.types import Seq
from pairlight.layers.ngrams import GramCosine, Grams

DIM, FILTERS, LONGEST = 3, 4, 2


def seq(lengths: list[int], seed: int, poison: float = 0.0, extra: int = 0) -> Seq:
    draw = torch.Generator().manual_seed(seed)
    x = torch.full((len(lengths), max(lengths) + extra, DIM), poison, dtype=torch.float64)
    mask = torch.zeros(x.shape[:2], dtype=torch.bool)
    for row, n in enumerate(lengths):
        x[row, :n] = torch.randn(n, DIM, generator=draw, dtype=torch.float64)
        mask[row, :n] = True
    return Seq(x, mask, torch.ones_like(mask, dtype=torch.int64))


@pytest.fixture
def grams() -> Grams:
    torch.manual_seed(0)
    return Grams(DIM, FILTERS, LONGEST).double()


def test_a_phrase_begins_at_every_word_and_zeros_stand_behind_the_last(grams):
    u = seq([3], 1)
    conv = grams.lengths[1].filters
    last = torch.relu(conv.weight @ torch.cat([u.x[0, 2], torch.zeros(DIM).double()]) + conv.bias)
    torch.testing.assert_close(grams(u).x[0, 2, FILTERS:], last)
    assert grams(u).x.shape == (1, 3, LONGEST * FILTERS)


def test_every_length_meets_every_length_the_right_one_running_faster(grams):
    u, v = grams(seq([3, 2], 1)), grams(seq([4, 1], 2))
    s = GramCosine(LONGEST)(u, v)
    assert s.x.shape == (2, 4, 3, 4)
    for channel, (p, q) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        g = u.x[0, 2, p * FILTERS : (p + 1) * FILTERS]
        h = v.x[0, 3, q * FILTERS : (q + 1) * FILTERS]
        wanted = torch.nn.functional.cosine_similarity(g, h, dim=0)
        torch.testing.assert_close(s.x[0, channel, 2, 3], wanted)


def test_one_left_text_may_face_several_right_ones(grams):
    u, v = grams(seq([3, 2], 1)), grams(seq([4, 1, 2, 4], 2))
    torch.testing.assert_close(GramCosine(LONGEST)(u, v).x, GramCosine(LONGEST)(u.repeat(2), v).x)


@pytest.mark.parametrize("poison", [1e3, math.nan])
def test_padding_is_silent(grams, poison):
    u, v = seq([3, 2], 1, poison, extra=2), seq([2, 4], 2, poison, extra=1)
    padded = GramCosine(LONGEST)(grams(u), grams(v))
    bare = GramCosine(LONGEST)(grams(seq([3, 2], 1)), grams(seq([2, 4], 2)))
    torch.testing.assert_close(padded.x[..., :3, :4], bare.x)
    assert (padded.x[..., 3:, :] == 0).all()
    assert (padded.x[1, :, 2:] == 0).all()


@pytest.mark.parametrize("poison", [1e3, math.nan])
def test_the_grid_is_silent_where_vectors_behind_the_end_are_not(poison):
    u, v = seq([3, 2], 1, poison), seq([2, 3], 2, poison)
    s = GramCosine(1)(u, v)
    assert s.x.isfinite().all()
    assert (s.x[1, :, 2:] == 0).all()
