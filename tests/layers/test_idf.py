"""Weights from inverse document frequencies: a softmax over the words of a text, without padding."""

import math

import numpy as np
import pytest
import torch

from pairlight.layers.idf import IdfGate, IdfSoftmax
from pairlight.layers.types import Tokens

IDF = np.array([0.0, 0.0, 1.0, 3.0, 0.5])  # the last is that of words not in the vocabulary


def tokens(junk: int = 0) -> Tokens:
    mask = torch.tensor([[True, True, True], [True, False, False]])
    return Tokens(torch.tensor([[2, 3, 99], [3, junk, junk]]), mask)


@pytest.mark.parametrize("junk", [0, 2, 10**6])
def test_weights_are_the_softmax_of_the_idf_and_zero_under_padding(junk):
    layer = IdfSoftmax(4).double()
    layer.set_idf(IDF)
    total = math.exp(1) + math.exp(3) + math.exp(0.5)
    expected = [[math.exp(1) / total, math.exp(3) / total, math.exp(0.5) / total], [1, 0, 0]]
    torch.testing.assert_close(layer(tokens(junk)), torch.tensor(expected, dtype=torch.float64))


def test_the_gate_multiplies_the_idf_by_its_weight():
    gate, softmax = IdfGate(4).double(), IdfSoftmax(4).double()
    gate.set_idf(IDF)
    softmax.set_idf(-2 * IDF)
    with torch.no_grad():
        gate.weight[0] = -2
    torch.testing.assert_close(gate(tokens()), softmax(tokens()))


def test_the_untrained_gate_gives_every_word_the_same_weight():
    gate = IdfGate(4)
    gate.set_idf(IDF)
    torch.testing.assert_close(gate(tokens())[0], torch.full((3,), 1 / 3))


def test_the_idf_keeps_the_type_of_the_layer_and_is_not_trained():
    layer = IdfGate(4)
    layer.set_idf(IDF)
    assert layer.idf.dtype == torch.float32
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
