"""DeepMatch's layers: local decisions on the words of a topic, combined by linked topics."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer, buffer, parameter
from pairlight.layers.types import Array, Tokens, tile_left_vectors


class TopicPatches(Layer):
    """h_p = sigmoid(x_p·A^k y_p + b^k), k = 1 .. units, for every topic p.   Tokens, Tokens -> [B, T·K]

    A topic has a patch of words for left texts and one for right texts. x_p and y_p are 1 for the words of the patch
    that occur in the text, else 0.
    """

    left_index: Array
    right_index: Array
    left_patches: Array
    right_patches: Array

    def __init__(self, vocab: int, topics: int, patch: int, units: int) -> None:
        self.vocab, self.topics, self.patch, self.units = vocab, topics, patch, units
        # The index of each word among the words of all patches, 0 for other words; and the indices in each patch.
        self.left_index, self.right_index = (buffer(vocab + 1, dtype="int64") for _ in range(2))
        self.left_patches, self.right_patches = (buffer(topics, patch, dtype="int64") for _ in range(2))
        self.weight = parameter(topics, patch, units * patch)
        self.bias = parameter(topics * units, bound=0)

    def forward(self, left: Tokens, right: Tokens) -> Array:
        x = self.occurrences(left, self.left_index, self.left_patches)  # [B, T, P]
        y = self.occurrences(right, self.right_index, self.right_patches)
        xp = array_namespace(x)
        xa = xp.einsum("btp,tpq->btq", x, self.weight)  # [B, T, K·P]
        xa, y = tile_left_vectors(xa.reshape(len(x), -1), y)
        xa = xa.reshape(len(y), -1, self.units, self.patch)  # [B, T, K, P]
        h: Array = xp.sigmoid(xp.einsum("btkp,btp->btk", xa, y).reshape(len(y), -1) + self.bias)  # [B, T·K]
        return h

    def occurrences(self, tokens: Tokens, index: Array, patches: Array) -> Array:
        """1 where a word of a patch occurs in the text, else 0: [B, T, P]."""
        xp = array_namespace(tokens.ids)
        words = xp.where(tokens.mask, index[xp.clip(tokens.ids, high=self.vocab)], 0)  # [B, L]
        count = patches.shape[0] * patches.shape[1] + 1
        occurs: Array = xp.cast(xp.occurs(words, count), self.bias)
        occurs[:, 0] = 0
        return occurs[:, patches]


class LinkedTopics(Layer):
    """h_q = sigmoid(sum over the topics p linked to q of W_qp h_p + b).   [B, fine·K] -> [B, coarse·K]"""

    links: Array

    def __init__(self, fine: int, coarse: int, units: int) -> None:
        self.units = units
        self.weight = parameter(coarse * units, fine * units)
        self.bias = parameter(coarse * units, bound=0)
        self.links = buffer(coarse, fine, fill=1, dtype="bool")

    def forward(self, h: Array) -> Array:
        xp = array_namespace(h)
        linked = xp.repeat(xp.repeat(self.links, self.units, 0), self.units, 1)
        y: Array = xp.sigmoid(xp.linear(h, xp.where(linked, self.weight, 0), self.bias))
        return y
