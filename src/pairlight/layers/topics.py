"""DeepMatch's layers: local decisions on the words of a topic, combined by linked topics."""

import torch
from torch.nn import functional as F

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
        xa = torch.einsum("btp,tpq->btq", x, self.weight)  # [B, T, K·P]
        xa, y = tile_left_vectors(xa.flatten(1), y)
        xa = xa.view(len(y), -1, self.units, self.patch)  # [B, T, K, P]
        return torch.sigmoid(torch.einsum("btkp,btp->btk", xa, y).flatten(1) + self.bias)  # [B, T·K]

    def occurrences(self, tokens: Tokens, index: Array, patches: Array) -> Array:
        """1 where a word of a patch occurs in the text, else 0: [B, T, P]."""
        words = index[tokens.ids.clamp(max=self.vocab)].masked_fill(~tokens.mask, 0)  # [B, L]
        occurs = self.bias.new_zeros(len(words), patches.numel() + 1).scatter_(1, words, 1)
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
        linked = self.links.repeat_interleave(self.units, 0).repeat_interleave(self.units, 1)
        return torch.sigmoid(F.linear(h, self.weight.masked_fill(~linked, 0), self.bias))
