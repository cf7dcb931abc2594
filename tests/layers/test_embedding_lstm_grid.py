"""Padding, poisoned with 1e3 and NaN, must never reach what a part gives."""

import numpy as np
import pytest
import torch

from pairlight.core.errors import InputError
from pairlight.layers.types import Grid, Seq, Tokens, tile_left
from pairlight.layers.topk import KMax
from pairlight.layers.embedding import Embed, Gate, Words
from pairlight.layers.lstm import LSTM, BiLSTM, last_state
from pairlight.layers.interactions import build_interaction
from pairlight.layers.heads import MLP, CosineScore
from reference import words as slow

KINDS = ["cosine", "cosine-per-direction", "dot", "indicator", "gaussian", "bilinear", "tensor"]
poisons = pytest.mark.parametrize("poison", [1e3, float("nan")])


def seq(lengths, dim=6, poison=0.0, seed=0) -> Seq:
    g = torch.Generator().manual_seed(seed)
    L = max(lengths) + 2
    mask = torch.arange(L) < torch.tensor(lengths)[:, None]
    x = torch.randn(len(lengths), L, dim, dtype=torch.float64, generator=g)
    ids = torch.randint(2, 6, (len(lengths), L), generator=g).masked_fill(~mask, 3)
    return Seq(x.masked_fill(~mask[..., None], poison), mask, ids)


def scrambled(module):
    torch.manual_seed(1)
    module = module.double()
    with torch.no_grad():
        for p in module.parameters():
            p.normal_(0, 0.4)
    return module


@poisons
@pytest.mark.parametrize("make", [lambda: LSTM(6, 5), lambda: LSTM(6, 5, backwards=True), lambda: BiLSTM(6, 5)])
def test_an_encoder_never_reads_padding(make, poison):
    part = scrambled(make())
    clean, dirty = part(seq([4, 1, 7])), part(seq([4, 1, 7], poison=poison))
    torch.testing.assert_close(dirty.x, clean.x)
    assert (clean.x[~clean.mask] == 0).all()


def test_the_backward_lstm_starts_at_each_texts_own_last_word():
    part, u = scrambled(LSTM(6, 5, backwards=True)), seq([4, 1, 7])
    weights = {f"p.{name}": value.detach().numpy() for name, value in part.named_parameters()}
    for row, n in enumerate([4, 1, 7]):
        states = slow.lstm(weights, "p", list(u.x[row, :n].numpy()[::-1]))[::-1]
        np.testing.assert_allclose(part(u).x[row, :n].detach(), states, rtol=1e-9)


@poisons
@pytest.mark.parametrize("kind", KINDS)
def test_an_interaction_never_reads_padding(kind, poison):
    part = scrambled(build_interaction(kind, 6, 3))
    clean = part(seq([4, 1, 7]), seq([2, 5, 1], seed=1))
    dirty = part(seq([4, 1, 7], poison=poison), seq([2, 5, 1], poison=poison, seed=1))
    torch.testing.assert_close(dirty.x, clean.x)
    assert (clean.x[~clean.mask[:, None].expand_as(clean.x)] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_an_interaction_equals_its_slow_twin_cell_by_cell(kind):
    part, u, v = scrambled(build_interaction(kind, 6, 3)), seq([4]), seq([3], seed=1)
    weights = {f"interact.{name}": value.detach().numpy() for name, value in part.named_parameters()}
    grid = slow.interact(
        weights,
        {"interaction": kind, "channels": 3},
        list(u.x[0, :4].numpy()),
        list(v.x[0, :3].numpy()),
        u.ids[0].tolist(),
        v.ids[0].tolist(),
    )
    np.testing.assert_allclose(part(u, v).x[0, :, :4, :3].detach(), grid, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["cosine", "cosine-per-direction"])
def test_the_cosine_with_a_zero_vector_is_zero_and_has_a_finite_gradient(kind):
    u = seq([3])
    x = torch.zeros_like(u.x).requires_grad_()
    grid = build_interaction(kind, 6)(Seq(x, u.mask, u.ids), seq([3], seed=1))
    grid.x.sum().backward()
    assert (grid.x == 0).all()
    assert x.grad.isfinite().all()


def test_an_unknown_interaction_lists_the_known_ones():
    with pytest.raises(InputError, match="cosine, cosine-per-direction"):
        build_interaction("cosin", 6)


@poisons
def test_a_gate_gives_padding_no_weight(poison):
    part = scrambled(Gate(6, rescale=False))
    clean, dirty = part(seq([4, 1, 7])), part(seq([4, 1, 7], poison=poison))
    torch.testing.assert_close(dirty.x, clean.x)
    torch.testing.assert_close(part.weights(seq([4, 1, 7], poison=poison)).sum(1), torch.ones(3, dtype=torch.float64))


def test_a_rescaled_gate_at_zero_leaves_every_word_as_it_is():
    u = seq([4, 1, 7])
    torch.testing.assert_close(Gate(6, rescale=True).double()(u).x, u.x)


def test_unknown_words_share_one_vector_and_keep_their_ids():
    part = Embed(10, 4)
    u = part(Tokens(torch.tensor([[1, 10, 99]]), torch.ones(1, 3, dtype=torch.bool)))
    assert (u.x[0, 0] == u.x[0, 1]).all()
    assert (u.x[0, 0] == u.x[0, 2]).all()
    assert u.ids.tolist() == [[1, 10, 99]]


def test_an_unknown_gate_lists_the_known_ones():
    with pytest.raises(InputError, match="none, left, right, both"):
        Words(10, gate="question")


@poisons
def test_kmax_takes_the_largest_cells_in_order_and_fills_up_with_zeros(poison):
    x = torch.tensor([[[[3.0, -1.0], [-2.0, poison]]]])
    mask = torch.tensor([[[True, True], [True, False]]])
    assert KMax(2)(Grid(x, mask)).tolist() == [[3.0, -1.0]]
    assert KMax(6)(Grid(x, mask)).tolist() == [[3.0, -1.0, -2.0, 0.0, 0.0, 0.0]]


def test_the_last_state_is_that_of_the_last_word():
    u = seq([4, 1, 7])
    torch.testing.assert_close(last_state(u), torch.stack([u.x[0, 3], u.x[1, 0], u.x[2, 6]]))


def test_right_row_r_faces_left_row_r_modulo_the_number_of_lefts():
    u, _ = tile_left(seq([4, 1]), seq([2, 2, 2, 2, 2, 2], seed=1))
    torch.testing.assert_close(u.x[4], u.x[0])
    torch.testing.assert_close(u.x[5], u.x[1])


def test_scores_are_one_number_a_pair():
    g = torch.Generator().manual_seed(0)
    u, v = torch.randn(2, 5, generator=g), torch.randn(4, 5, generator=g)
    assert MLP(5, 3)(v).shape == (4,)
    expected = torch.nn.functional.cosine_similarity(u.repeat(2, 1), v)
    torch.testing.assert_close(CosineScore()(u, v), expected)
