"""A convolution over windows of three words, on embeddings that hold one part per position in the window."""

import torch
from torch.nn import functional as F

from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Seq


class WindowMax(Layer):
    """v = max over t = 1 .. n of a_t-1 + b_t + c_t+1 in every dimension, where x_t = [a_t ; b_t ; c_t].   Seq -> [B, D]

    a_t, b_t and c_t are what word t contributes as the first, second and third word of a window; see
    `CharNgramEmbedding`. They are zero before the first and after the last word of a text.
    """

    def forward(self, u: Seq) -> Array:
        return self.windows(u).masked_fill(~u.mask[..., None], -torch.inf).amax(1)

    def windows(self, u: Seq) -> Array:
        """The window around every word: [B, L, D]."""
        return sum_windows(F.pad(u.with_x(u.x).x, (0, 0, 1, 1)))


def sum_windows(x: Array) -> Array:
    """h_t = a_t + b_t+1 + c_t+2, where x_t = [a_t ; b_t ; c_t].   [B, L, 3·D] -> [B, L - 2, D]"""
    first, second, third = x.chunk(3, -1)
    return first[:, :-2] + second[:, 1:-1] + third[:, 2:]
