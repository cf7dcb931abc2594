"""Shares say how much each word counts, and nothing behind a text's end counts."""

import torch

from pairlight.layers.types import Tokens
from pairlight.layers.embedding import Words
from pairlight.layers.attention import embed_with_attention

LEFT = Tokens(torch.tensor([[2, 3, 0]]), torch.tensor([[True, True, False]]))
RIGHT = Tokens(torch.tensor([[4, 5, 6], [7, 0, 0]]), torch.tensor([[True, True, True], [True, False, False]]))


def words(**settings) -> Words:
    torch.manual_seed(0)
    made = Words(9, dim=4, **settings)
    for gate in (made.left, made.right):
        for w in gate.parameters():
            torch.nn.init.normal_(w)
    return made.double()


def test_without_a_gate_every_word_counts_one_and_padding_nothing():
    _, _, a, b = embed_with_attention(words(), LEFT, RIGHT)
    assert a.tolist() == [[1, 1, 0], [1, 1, 0]]
    assert b.tolist() == [[1, 1, 1], [1, 0, 0]]


def test_a_gate_shares_one_out_and_leaves_the_vectors_alone():
    made = words(gate="both")
    u, v, a, b = embed_with_attention(made, LEFT, RIGHT)
    torch.testing.assert_close(u.x, made.embed(LEFT).x)
    torch.testing.assert_close(v.x, made.embed(RIGHT).x)
    torch.testing.assert_close(a.sum(1), torch.ones(2).double())
    torch.testing.assert_close(b.sum(1), torch.ones(2).double())
    assert a[0, 0] != a[0, 1]
    assert (a[:, 2] == 0).all()


def test_the_shares_are_those_by_which_the_gate_scales_a_word():
    for rescale in (False, True):
        made = words(gate="right", rescale=rescale)
        _, v, a, b = embed_with_attention(made, LEFT, RIGHT)
        torch.testing.assert_close(v.x * b[..., None], made(LEFT, RIGHT)[1].x)
        assert a.tolist() == [[1, 1, 0], [1, 1, 0]]
