"""Vectors of word n-grams of several lengths, and their cosine similarities."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.convolution import Conv, unfold
from pairlight.layers.interactions import Interaction, unit
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Grid, Seq, masked_grid, tile_left


class NgramConv(Layer):
    """g_t = [g_t^1 ; g_t^2 ; ..], the n-grams of 1, 2, .. words that start at word t.   Seq -> Seq

    g_t^n = relu(W^n [x_t ; .. ; x_t+n-1] + b^n), with zero vectors after the end of the text.
    """

    def __init__(self, dim: int, filters: int, grams: int) -> None:
        self.convs = [Conv(dim, filters, n + 1) for n in range(grams)]

    def forward(self, u: Seq) -> Seq:
        # A window of the longest n-gram starts with those of the shorter ones.
        grams = len(self.convs)
        windows = unfold(u, grams, 0, grams - 1)
        weights, biases = ([getattr(conv.filters, name) for conv in self.convs] for name in ("weight", "bias"))
        return Seq(array_namespace(u.x).prefix_linear_relu(windows, u.mask, weights, biases), u.mask, u.ids)


class NgramCosine(Interaction):
    """s_ij^ab = cosine of g_i^a and g_j^b, one channel for each pair of lengths, ordered by a, then b.   -> Grid"""

    def __init__(self, grams: int) -> None:
        self.grams, self.channels = grams, grams**2

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = tile_left(self.normalize(u), self.normalize(v))
        B, L, R, G = len(v.x), u.x.shape[1], v.x.shape[1], self.grams
        # All lengths next to each other: one matrix product for each pair of texts instead of one for each channel.
        xp = array_namespace(u.x)
        s = xp.matmul(u.x.reshape(B, L * G, -1), xp.transpose(v.x.reshape(B, R * G, -1), 1, 2))
        s = xp.permute(s.reshape(B, L, G, R, G), (0, 2, 4, 1, 3)).reshape(B, G * G, L, R)
        return masked_grid(u, v, s)

    def normalize(self, u: Seq) -> Seq:
        """Every n-gram vector with length 1."""
        return u.with_x(unit(self.split(u)).reshape(u.x.shape))

    def split(self, u: Seq) -> Array:
        """The n-gram vectors of each length: [B, L, grams, D]."""
        return u.x.reshape(*u.x.shape[:2], self.grams, -1)
