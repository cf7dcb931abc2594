"""Word n-grams of several lengths and their cosines never read padding."""

import math

import pytest
import torch

from layers.toy import DIM, Recorder, seq
from pairlight.layers.embedding import Embedding
from pairlight.layers.ngrams import NgramConv, NgramCosine, fused_ngrams
from pairlight.layers.tracing import tracing
from pairlight.layers.types import Tokens

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


def repeating_words() -> Tokens:
    """Texts with repeated words, an unknown word, and two out-of-vocabulary words of which one has a vector."""
    ids = torch.tensor([[2, 3, 2, 2, 4], [3, 2, 9, 8, 2], [5, 3, 0, 0, 0]])
    mask = torch.tensor([[True] * 5, [True] * 5, [True, True, False, False, False]])
    return Tokens(ids, mask, oov_ids=torch.tensor([8]), oov_vectors=torch.full((1, DIM), 0.5).double())


def test_ngrams_with_one_product_for_each_distinct_word_equal_those_of_all_positions(encode):
    embedding, tokens = Embedding(6, DIM).double(), repeating_words()
    u = embedding(tokens)
    plain, fused = encode(u), fused_ngrams(embedding, encode, tokens, u)
    torch.testing.assert_close(fused.x, plain.x)
    assert (fused.x[2, 2:] == 0).all()
    weight, parameters = torch.randn_like(plain.x), [*embedding.parameters(), *encode.parameters()]
    gradients = (torch.autograd.grad((y.x * weight).sum(), parameters) for y in (plain, fused))
    for x, y in zip(*gradients, strict=True):
        torch.testing.assert_close(x, y)


def test_with_dropout_every_occurrence_of_a_word_has_its_own_ngrams(encode):
    embedding, tokens = Embedding(6, DIM, dropout=0.5).double(), repeating_words()
    u = embedding(tokens)
    assert torch.equal(fused_ngrams(embedding, encode, tokens, u).x, encode(u).x)


def test_watched_layers_run_one_after_the_other(encode):
    embedding, tokens = Embedding(6, DIM).double(), repeating_words()
    recorder = Recorder(encode)
    with tracing(recorder):
        y = fused_ngrams(embedding, encode, tokens, embedding(tokens))
    assert recorder.outputs == [y]
