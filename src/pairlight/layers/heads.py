"""Scoring heads: the score of a pair from one vector per pair, one per text, or one value per left word.   -> [B]"""

from typing import Any

from pairlight.kernels.native.head import Head
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear
from pairlight.layers.interactions import unit
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, tile_left_vectors


class MLP(Layer):
    """s = w·relu(W q + b) + c.   [B, D] -> [B]"""

    def __init__(self, inputs: int, hidden: int) -> None:
        self.hidden = Linear(inputs, hidden)
        self.out = Linear(hidden, 1)

    def forward(self, q: Array) -> Array:
        s: Array = self.out(array_namespace(q).relu(self.hidden(q)))[:, 0]
        return s


class LinearScore(Layer):
    """s = w·q + c.   [B, D] -> [B]"""

    def __init__(self, inputs: int) -> None:
        self.out = Linear(inputs, 1)

    def forward(self, q: Array) -> Array:
        s: Array = self.out(q)[:, 0]
        return s


def kernel_head(linear: Linear | None, network: MLP | None) -> Head:
    """The score of a linear layer, plus that of a network, for kernels that score stored texts."""
    weight, constant = (None, 0.0) if linear is None else (_arrays(linear)[0][0], float(_arrays(linear)[1][0]))
    if network is None:
        return Head.of(weight, constant)
    (hidden, bias), (out, last) = _arrays(network.hidden), _arrays(network.out)
    return Head.of(weight, constant + float(last[0]), hidden, bias, out[0])


def _arrays(layer: Linear) -> tuple[Any, Any]:
    to_numpy = array_namespace(layer.weight).to_numpy
    return to_numpy(layer.weight), to_numpy(layer.bias)


def score_layers(inputs: int, hidden: int) -> Layer:
    """An MLP with this many hidden units, or a single linear layer for 0."""
    return MLP(inputs, hidden) if hidden else LinearScore(inputs)


class CosineScore(Layer):
    """s = u·v / (|u| |v|), with one vector per text.   [B, D], [B, D] -> [B]"""

    def forward(self, u: Array, v: Array) -> Array:
        u, v = tile_left_vectors(unit(u), unit(v))
        return (u * v).sum(-1)


class WeightedSum(Layer):
    """s = sum_i a_i z_i over the left words i.   [B, L], [B, L] -> [B]"""

    def forward(self, a: Array, z: Array) -> Array:
        return (a * z).sum(1)
