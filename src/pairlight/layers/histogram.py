"""Histograms of similarities: only the bin of a value counts, not its position."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer, parameter
from pairlight.layers.types import Array, Grid


def bin_index(s: Array, bins: int) -> Array:
    """⌊(s + 1) / 2 · (bins - 1)⌋: bins of equal width from -1 to 1, and the last bin for exactly 1."""
    index: Array = array_namespace(s).truncate((s + 1) / 2 * (bins - 1))
    return index


class BinWeights(Layer):
    """z_i = sum_j b_j w_k s_ij, where k is the bin of s_ij.   Grid, [B, R] -> [B, L]

    Equal to w·x_i, where x_ik is the sum of all values in bin k, but without computing x. w is initialized to 0.
    """

    def __init__(self, bins: int) -> None:
        self.w = parameter(bins, bound=0)

    def forward(self, s: Grid, b: Array) -> Array:
        xp = array_namespace(s.x)
        x = xp.where(s.mask, s.x[:, 0], 0)  # [B, L, R]
        # Not by indexing, whose gradient sorts the indices first.
        w = xp.take_along_axis(self.w, bin_index(x, len(self.w)).reshape(-1), 0).reshape(x.shape)
        return ((w * x) @ xp.where(s.mask.any(1), b, 0)[..., None])[..., 0]


class Histogram(Layer):
    """h_ik = sum of b_j over the words j whose s_ij is in bin k.   Grid, [B, R] -> [B, L, K]"""

    def __init__(self, bins: int) -> None:
        self.bins = bins

    def forward(self, s: Grid, b: Array) -> Array:
        xp = array_namespace(s.x)
        x = xp.where(s.mask, s.x[:, 0], 0)  # [B, L, R]
        h: Array = xp.sums_by_index(bin_index(x, self.bins), xp.where(s.mask, b[:, None, :], 0), self.bins)
        return h
