"""Embeddings, LSTMs, interactions, k-max pooling and heads; padding is poisoned with 1e3 and NaN."""

from typing import get_args

import numpy as np
import pytest
import torch

from pairlight.core.errors import InputError
from pairlight.layers.embedding import AttentionGate, Embedding
from pairlight.layers.heads import MLP, CosineScore, WeightedSum
from pairlight.layers.interactions import InteractionName, NegativeDistance, build_interaction
from pairlight.layers.lstm import LSTM, BiLSTM, last_state
from pairlight.layers.topk import KMax
from pairlight.layers.types import Grid, Seq, Tokens, tile_left
from pairlight.models import build
from reference import common

KINDS = get_args(InteractionName)
poisons = pytest.mark.parametrize("poison", [1e3, float("nan")])


def seq(lengths, dim=6, poison=0.0, seed=0) -> Seq:
    g = torch.Generator().manual_seed(seed)
    L = max(lengths) + 2
    mask = torch.arange(L) < torch.tensor(lengths)[:, None]
    x = torch.randn(len(lengths), L, dim, dtype=torch.float64, generator=g)
    ids = torch.randint(2, 6, (len(lengths), L), generator=g).masked_fill(~mask, 3)
    return Seq(x.masked_fill(~mask[..., None], poison), mask, ids)


def scrambled(layer):
    torch.manual_seed(1)
    layer = layer.double()
    with torch.no_grad():
        for p in layer.parameters():
            p.normal_(0, 0.4)
    return layer


@poisons
@pytest.mark.parametrize("make", [lambda: LSTM(6, 5), lambda: LSTM(6, 5, backwards=True), lambda: BiLSTM(6, 5)])
def test_an_encoder_never_reads_padding(make, poison):
    layer = scrambled(make())
    clean, dirty = layer(seq([4, 1, 7])), layer(seq([4, 1, 7], poison=poison))
    torch.testing.assert_close(dirty.x, clean.x)
    assert (clean.x[~clean.mask] == 0).all()


def test_the_backward_lstm_starts_at_the_last_word_of_each_text():
    layer, u = scrambled(LSTM(6, 5, backwards=True)), seq([4, 1, 7])
    weights = {f"lstm.{name}": value.detach().numpy() for name, value in layer.named_parameters()}
    for row, n in enumerate([4, 1, 7]):
        states = common.lstm(weights, "lstm", list(u.x[row, :n].numpy()[::-1]))[::-1]
        np.testing.assert_allclose(layer(u).x[row, :n].detach(), states, rtol=1e-9)


@poisons
@pytest.mark.parametrize("kind", KINDS)
def test_an_interaction_never_reads_padding(kind, poison):
    layer = scrambled(build_interaction(kind, 6, 3))
    clean = layer(seq([4, 1, 7]), seq([2, 5, 1], seed=1))
    dirty = layer(seq([4, 1, 7], poison=poison), seq([2, 5, 1], poison=poison, seed=1))
    torch.testing.assert_close(dirty.x, clean.x)
    assert (clean.x[~clean.mask[:, None].expand_as(clean.x)] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_an_interaction_equals_its_reference_in_every_cell(kind):
    layer, u, v = scrambled(build_interaction(kind, 6, 3)), seq([4]), seq([3], seed=1)
    weights = {f"interact.{name}": value.detach().numpy() for name, value in layer.named_parameters()}
    grid = common.interact(
        weights,
        {"interaction": kind, "channels": 3},
        list(u.x[0, :4].numpy()),
        list(v.x[0, :3].numpy()),
        u.ids[0].tolist(),
        v.ids[0].tolist(),
    )
    np.testing.assert_allclose(layer(u, v).x[0, :, :4, :3].detach(), grid, rtol=1e-9, atol=1e-12)


@poisons
def test_the_negative_distance_is_exactly_zero_for_equal_vectors_and_under_padding(poison):
    u = seq([4, 2], poison=poison)
    s = NegativeDistance()(u, u)
    assert (s.x[0, 0, :4, :4].diagonal() == 0).all()
    expected = -(u.x[0, 1] - u.x[0, 3]).norm()
    torch.testing.assert_close(s.x[0, 0, 1, 3], expected)
    assert (s.x[:, 0][~s.mask] == 0).all()


@pytest.mark.parametrize("kind", ["cosine", "cosine-per-direction"])
def test_the_cosine_with_a_zero_vector_is_zero_and_has_a_finite_gradient(kind):
    u = seq([3])
    x = torch.zeros_like(u.x).requires_grad_()
    grid = build_interaction(kind, 6)(Seq(x, u.mask, u.ids), seq([3], seed=1))
    grid.x.sum().backward()
    assert (grid.x == 0).all()
    assert x.grad.isfinite().all()


def test_an_unknown_interaction_is_rejected_with_the_known_ones():
    with pytest.raises(InputError, match="cosine, cosine-per-direction"):
        build_interaction("cosin", 6)


@poisons
def test_a_gate_gives_padding_no_weight(poison):
    layer = scrambled(AttentionGate(6, rescale=False))
    clean, dirty = layer(seq([4, 1, 7])), layer(seq([4, 1, 7], poison=poison))
    torch.testing.assert_close(dirty.x, clean.x)
    torch.testing.assert_close(layer.weights(seq([4, 1, 7], poison=poison)).sum(1), torch.ones(3, dtype=torch.float64))


def test_a_rescaled_gate_with_zero_weights_leaves_every_vector_unchanged():
    u = seq([4, 1, 7])
    torch.testing.assert_close(AttentionGate(6, rescale=True).double()(u).x, u.x)


def test_out_of_vocabulary_words_share_one_vector_and_keep_their_ids():
    layer = Embedding(10, 4)
    u = layer(Tokens(torch.tensor([[1, 10, 99]]), torch.ones(1, 3, dtype=torch.bool)))
    assert (u.x[0, 0] == u.x[0, 1]).all()
    assert (u.x[0, 0] == u.x[0, 2]).all()
    assert u.ids.tolist() == [[1, 10, 99]]


@pytest.mark.parametrize("encoder", [LSTM, BiLSTM])
def test_without_gradients_the_states_of_looked_up_words_are_those_of_their_vectors(encoder):
    layer, encode = Embedding(6, 3).eval(), encoder(3, 4)
    mask = torch.tensor([[True, True, True], [True, True, False]])
    found = torch.tensor([[0.5, -1.0, 2.0]])
    tokens = Tokens(torch.tensor([[4, 9, 4], [8, 5, 77]]), mask, oov_ids=torch.tensor([9]), oov_vectors=found)
    whole = layer(tokens)
    with torch.no_grad():
        looked_up = layer(tokens)
        assert len(looked_up.rows) == 5  # 4, 5, 8 and 9, and padding
        states = encode(looked_up)
        assert "x" not in vars(looked_up)  # the vectors of all positions were not made
    assert torch.equal(looked_up.x, whole.x)
    torch.testing.assert_close(states.x, encode(whole).x, rtol=0, atol=1e-6)
    assert torch.equal(states.ids, tokens.ids)


def test_an_unknown_gate_is_rejected_with_the_known_ones():
    with pytest.raises(InputError, match="mv-lstm: gate='question' is not one of none, left, right, both"):
        build("mv-lstm", 10, gate="question")


@poisons
def test_kmax_keeps_the_largest_cells_in_order_and_pads_with_zeros(poison):
    x = torch.tensor([[[[3.0, -1.0], [-2.0, poison]]]])
    mask = torch.tensor([[[True, True], [True, False]]])
    assert KMax(2)(Grid(x, mask)).tolist() == [[3.0, -1.0]]
    assert KMax(6)(Grid(x, mask)).tolist() == [[3.0, -1.0, -2.0, 0.0, 0.0, 0.0]]


def test_the_last_state_is_that_of_the_last_word():
    u = seq([4, 1, 7])
    torch.testing.assert_close(last_state(u), torch.stack([u.x[0, 3], u.x[1, 0], u.x[2, 6]]))


def test_right_text_r_is_paired_with_left_text_r_modulo_the_number_of_left_texts():
    u, _ = tile_left(seq([4, 1]), seq([2, 2, 2, 2, 2, 2], seed=1))
    torch.testing.assert_close(u.x[4], u.x[0])
    torch.testing.assert_close(u.x[5], u.x[1])


def test_heads_give_one_score_per_pair():
    g = torch.Generator().manual_seed(0)
    u, v = torch.randn(2, 5, generator=g), torch.randn(4, 5, generator=g)
    assert MLP(5, 3)(v).shape == (4,)
    expected = torch.nn.functional.cosine_similarity(u.repeat(2, 1), v)
    torch.testing.assert_close(CosineScore()(u, v), expected)
    assert WeightedSum()(torch.tensor([[1.0, 2], [3, 0]]), torch.tensor([[4.0, 5], [6, 7]])).tolist() == [14, 18]
