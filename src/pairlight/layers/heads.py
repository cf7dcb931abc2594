"""Scoring heads: a vector per pair, or one per text, becomes the score that pairs are ranked by.   [B, D] -> [B]"""

from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear
from pairlight.layers.interactions import unit
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, tile_left_vectors


class MLP(Layer):
    """s = w·relu(W q + b) + c"""

    def __init__(self, inputs: int, hidden: int) -> None:
        self.hidden = Linear(inputs, hidden)
        self.out = Linear(hidden, 1)

    def forward(self, q: Array) -> Array:
        s: Array = self.out(array_namespace(q).relu(self.hidden(q)))[:, 0]
        return s


class CosineScore(Layer):
    """s = u·v / (|u| |v|) of one vector per text"""

    def forward(self, u: Array, v: Array) -> Array:
        u, v = tile_left_vectors(unit(u), unit(v))
        return (u * v).sum(-1)
