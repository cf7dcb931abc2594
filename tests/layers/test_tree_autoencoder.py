"""The tree autoencoder: the nodes it joins, its reconstruction error, and that it never reads padding."""

import numpy as np
import pytest
import torch

from layers.toy import Recorder
from pairlight.layers.tracing import tracing
from pairlight.layers.tree_autoencoder import TreeAutoencoder
from pairlight.layers.trees import Trees, build_trees
from pairlight.layers.types import Seq

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
def autoencoder() -> TreeAutoencoder:
    torch.manual_seed(0)
    return TreeAutoencoder(3).double()


def unfolded(autoencoder, tree, x):
    """The words below a node, decoded from its vector; a tree is the position of a word or a pair of trees."""
    vectors = []

    def vector(t):
        return x[t] if isinstance(t, int) else autoencoder.encode(torch.cat([vector(t[0]), vector(t[1])]))

    def unfold(t, y):
        if isinstance(t, int):
            vectors.append((t, y))
        else:
            a, b = autoencoder.decode(y).chunk(2)
            unfold(t[0], a)
            unfold(t[1], b)

    unfold(tree, vector(tree))
    return vectors


def test_the_error_is_the_sum_over_all_words_below_every_inner_node(autoencoder):
    u = sequences([4])
    x = u.x[0]
    autoencoder.greedy_joins = lambda u: torch.tensor([[1, 1, 0]])  # (a ((b c) d))
    subtrees = [(1, 2), ((1, 2), 3), (0, ((1, 2), 3))]
    expected = sum((x[t] - y).square().sum() for tree in subtrees for t, y in unfolded(autoencoder, tree, x))
    torch.testing.assert_close(autoencoder.reconstruction_error(u), expected)


@pytest.mark.parametrize("poison", [1e3, float("nan")])
def test_padding_is_never_read(autoencoder, poison):
    clean, poisoned = autoencoder(sequences()), autoencoder(sequences(extra=5, poison=poison))
    for row, n in enumerate(LENGTHS):
        torch.testing.assert_close(poisoned.x[row, : 2 * n - 1], clean.x[row, : 2 * n - 1])
        assert (poisoned.x[row, 2 * n - 1 :] == 0).all()
    assert poisoned.mask.sum(1).tolist() == [2 * n - 1 for n in LENGTHS]
    torch.testing.assert_close(
        autoencoder.reconstruction_error(sequences(extra=5, poison=poison)),
        autoencoder.reconstruction_error(sequences()),
    )


def test_the_two_neighbors_with_the_smallest_error_are_joined_first(autoencoder):
    u = sequences([7])
    pairs = torch.cat([u.x[0, :-1], u.x[0, 1:]], -1)
    error = (pairs - autoencoder.decode(autoencoder.encode(pairs))).square().sum(-1)
    assert autoencoder.greedy_joins(u)[0, 0] == error.argmin()


@pytest.mark.parametrize("rounding", [-1e-9, 1e-9])
def test_of_pairs_with_equal_errors_the_first_is_joined(autoencoder, rounding):
    u = sequences([5])
    a, b, between = u.x[0, 0] / 9, u.x[0, 1] / 9, torch.full((3,), 5.0, dtype=torch.float64)
    equal = u.with_x(torch.stack([a, b, between, a + rounding, b])[None])
    assert autoencoder.greedy_joins(equal)[0, 0] == 0


def test_words_are_the_first_nodes_and_the_root_the_last(autoencoder):
    u = sequences([5])
    nodes = autoencoder(u)
    torch.testing.assert_close(nodes.x[0, :5], u.x[0])
    trees = build_trees(autoencoder.greedy_joins(u), u.lengths)
    torch.testing.assert_close(nodes.x[0, 8], autoencoder.node_vectors(u, trees)[0, 8])
    assert trees.order[0, 8] == 8


def test_a_gradient_reaches_the_words_and_the_weights(autoencoder):
    u = sequences()
    x = u.x.clone().requires_grad_()
    autoencoder(u.with_x(x)).x.sum().backward()
    assert (x.grad.abs().sum(-1)[u.mask] > 0).all()
    weights = [weight.requires_grad_() for weight in autoencoder.buffers()]
    autoencoder.reconstruction_error(u).backward()
    assert all(weight.grad.abs().sum() > 0 for weight in weights)


def test_training_reduces_the_error(autoencoder):
    u = sequences(np.random.default_rng(0).integers(2, 6, 30).tolist())
    u = u.with_x(u.x.sign() * 0.5)  # few distinct words, which are easy to reconstruct
    optimizer = torch.optim.Adam([weight.requires_grad_() for weight in autoencoder.buffers()], 0.01)
    before = autoencoder.reconstruction_error(u).item()
    for _ in range(150):
        optimizer.zero_grad()
        autoencoder.reconstruction_error(u).backward()
        optimizer.step()
    assert autoencoder.reconstruction_error(u).item() < 0.6 * before


def test_a_trace_receives_the_trees(autoencoder):
    u, trace = sequences(), Recorder(autoencoder)
    with tracing(trace):
        autoencoder(u)
    (trees,) = trace.notes
    assert isinstance(trees, Trees)
    assert torch.equal(trees.order, autoencoder.trees(u).order)
