"""The tree autoencoder: which neighbours it joins, what it unfolds, and that nothing depends on padding."""

import numpy as np
import pytest
import torch

from pairlight.layers.types import Seq
from pairlight.layers.tree_autoencoder import TreeAutoencoder
from pairlight.layers.trees import trees_of

LENGTHS = [6, 1, 4, 2]


def sequences(lengths=LENGTHS, extra=0, poison=0.0) -> Seq:
    torch.manual_seed(2)
    L = max(lengths) + extra
    x = torch.full((len(lengths), L, 3), poison, dtype=torch.float64)
    mask = torch.zeros(len(lengths), L, dtype=torch.bool)
    for row, n in enumerate(lengths):
        x[row, :n] = torch.randn(n, 3, dtype=torch.float64)
        mask[row, :n] = True
    return Seq(x, mask, torch.arange(L).expand(len(lengths), L))


@pytest.fixture
def encode() -> TreeAutoencoder:
    torch.manual_seed(0)
    return TreeAutoencoder(3).double()


def unfolded(encode, tree, x):
    """The words below a node as it unfolds them; tree is a word's number or a pair of trees."""
    vectors = []

    def vector(t):
        return x[t] if isinstance(t, int) else encode.join(torch.cat([vector(t[0]), vector(t[1])]))

    def unfold(t, y):
        if isinstance(t, int):
            vectors.append((t, y))
        else:
            a, b = encode.part(y).chunk(2)
            unfold(t[0], a)
            unfold(t[1], b)

    unfold(tree, vector(tree))
    return vectors


def test_the_error_is_that_of_all_words_below_every_inner_node(encode):
    u = sequences([4])
    x = u.x[0]
    encode.joins = lambda u: torch.tensor([[1, 1, 0]])  # (a ((b c) d))
    subtrees = [(1, 2), ((1, 2), 3), (0, ((1, 2), 3))]
    by_hand = sum((x[t] - y).square().sum() for tree in subtrees for t, y in unfolded(encode, tree, x))
    torch.testing.assert_close(encode.error(u), by_hand)


@pytest.mark.parametrize("poison", [1e3, float("nan")])
def test_padding_is_never_read(encode, poison):
    clean, poisoned = encode(sequences()), encode(sequences(extra=5, poison=poison))
    for row, n in enumerate(LENGTHS):
        torch.testing.assert_close(poisoned.x[row, : 2 * n - 1], clean.x[row, : 2 * n - 1])
        assert (poisoned.x[row, 2 * n - 1 :] == 0).all()
    assert poisoned.mask.sum(1).tolist() == [2 * n - 1 for n in LENGTHS]
    torch.testing.assert_close(encode.error(sequences(extra=5, poison=poison)), encode.error(sequences()))


def test_the_two_neighbours_that_come_back_best_are_joined_first(encode):
    u = sequences([7])
    pairs = torch.cat([u.x[0, :-1], u.x[0, 1:]], -1)
    error = (pairs - encode.part(encode.join(pairs))).square().sum(-1)
    assert encode.joins(u)[0, 0] == error.argmin()


@pytest.mark.parametrize("rounding", [-1e-9, 1e-9])
def test_of_pairs_that_come_back_alike_the_first_is_joined(encode, rounding):
    u = sequences([5])
    a, b, between = u.x[0, 0] / 9, u.x[0, 1] / 9, torch.full((3,), 5.0, dtype=torch.float64)
    alike = u.with_x(torch.stack([a, b, between, a + rounding, b])[None])
    assert encode.joins(alike)[0, 0] == 0


def test_words_come_first_and_the_root_last(encode):
    u = sequences([5])
    nodes = encode(u)
    torch.testing.assert_close(nodes.x[0, :5], u.x[0])
    trees = trees_of(encode.joins(u), u.lengths)
    torch.testing.assert_close(nodes.x[0, 8], encode.nodes(u, trees)[0, 8])
    assert trees.order[0, 8] == 8


def test_a_gradient_reaches_the_words_and_the_weights(encode):
    u = sequences()
    x = u.x.clone().requires_grad_()
    encode(u.with_x(x)).x.sum().backward()
    assert (x.grad.abs().sum(-1)[u.mask] > 0).all()
    weights = [weight.requires_grad_() for weight in encode.buffers()]
    encode.error(u).backward()
    assert all(weight.grad.abs().sum() > 0 for weight in weights)


def test_training_makes_the_error_small(encode):
    u = sequences(np.random.default_rng(0).integers(2, 6, 30).tolist())
    u = u.with_x(u.x.sign() * 0.5)  # few distinct words: little to remember
    optimizer = torch.optim.Adam([weight.requires_grad_() for weight in encode.buffers()], 0.01)
    before = encode.error(u).item()
    for _ in range(150):
        optimizer.zero_grad()
        encode.error(u).backward()
        optimizer.step()
    assert encode.error(u).item() < 0.6 * before
