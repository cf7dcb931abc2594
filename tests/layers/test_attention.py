"""Attention weights of words: 1 without a gate, those of the gate with one, and 0 under padding."""

import torch

from pairlight.layers.attention import embed_with_attention
from pairlight.layers.embedding import WordEmbedding
from pairlight.layers.types import Tokens

LEFT = Tokens(torch.tensor([[2, 3, 0]]), torch.tensor([[True, True, False]]))
RIGHT = Tokens(torch.tensor([[4, 5, 6], [7, 0, 0]]), torch.tensor([[True, True, True], [True, False, False]]))


def embedding(**settings) -> WordEmbedding:
    torch.manual_seed(0)
    embed = WordEmbedding(9, dim=4, **settings)
    for gate in (embed.left_gate, embed.right_gate):
        for w in gate.parameters():
            torch.nn.init.normal_(w)
    return embed.double()


def test_without_a_gate_every_word_has_weight_one_and_padding_zero():
    _, _, a, b = embed_with_attention(embedding(), LEFT, RIGHT)
    assert a.tolist() == [[1, 1, 0], [1, 1, 0]]
    assert b.tolist() == [[1, 1, 1], [1, 0, 0]]


def test_with_a_gate_the_weights_sum_to_one_and_the_vectors_are_unchanged():
    embed = embedding(gate="both")
    u, v, a, b = embed_with_attention(embed, LEFT, RIGHT)
    torch.testing.assert_close(u.x, embed.embedding(LEFT).x)
    torch.testing.assert_close(v.x, embed.embedding(RIGHT).x)
    torch.testing.assert_close(a.sum(1), torch.ones(2).double())
    torch.testing.assert_close(b.sum(1), torch.ones(2).double())
    assert a[0, 0] != a[0, 1]
    assert (a[:, 2] == 0).all()


def test_the_weights_are_those_that_the_gate_multiplies_vectors_by():
    for rescale in (False, True):
        embed = embedding(gate="right", rescale=rescale)
        _, v, a, b = embed_with_attention(embed, LEFT, RIGHT)
        torch.testing.assert_close(v.x * b[..., None], embed(LEFT, RIGHT)[1].x)
        assert a.tolist() == [[1, 1, 0], [1, 1, 0]]
