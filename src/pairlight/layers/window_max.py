"""A convolution over windows of three words, on embeddings that hold one part per position in the window."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Seq


class WindowMax(Layer):
    """v = max over t = 1 .. n of a_t-1 + b_t + c_t+1 in every dimension, where x_t = [a_t ; b_t ; c_t].   Seq -> [B, D]

    a_t, b_t and c_t are what word t contributes as the first, second and third word of a window; see
    `CharNgramEmbedding`. They are zero before the first and after the last word of a text.
    """

    def forward(self, u: Seq) -> Array:
        xp = array_namespace(u.x)
        v: Array = xp.amax(xp.where(u.mask[..., None], self.windows(u), -float("inf")), 1)
        return v

    def windows(self, u: Seq) -> Array:
        """The window around every word: [B, L, D]."""
        return sum_windows(array_namespace(u.x).pad(u.with_x(u.x).x, [(1, 1), (0, 0)]))


def sum_windows(x: Array) -> Array:
    """h_t = a_t + b_t+1 + c_t+2, where x_t = [a_t ; b_t ; c_t].   [B, L, 3·D] -> [B, L - 2, D]"""
    D = x.shape[-1] // 3
    return x[:, :-2, :D] + x[:, 1:-1, D : 2 * D] + x[:, 2:, 2 * D :]
