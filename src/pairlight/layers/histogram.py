"""Histograms of similarities: only the bin of a value counts, not its position."""

from pairlight.layers.layer import Layer, parameter
from pairlight.layers.types import Array, Grid


def bin_index(s: Array, bins: int) -> Array:
    """⌊(s + 1) / 2 · (bins - 1)⌋: bins of equal width from -1 to 1, and the last bin for exactly 1."""
    return ((s + 1) / 2 * (bins - 1)).long()


class BinWeights(Layer):
    """z_i = sum_j b_j w_k s_ij, where k is the bin of s_ij.   Grid, [B, R] -> [B, L]

    Equal to w·x_i, where x_ik is the sum of all values in bin k, but without computing x. w is initialized to 0.
    """

    def __init__(self, bins: int) -> None:
        self.w = parameter(bins, bound=0)

    def forward(self, s: Grid, b: Array) -> Array:
        x = s.x[:, 0].masked_fill(~s.mask, 0)  # [B, L, R]
        # gather, because the gradient of indexing sorts the indices first.
        w = self.w.gather(0, bin_index(x, len(self.w)).flatten()).view_as(x)
        return ((w * x) @ b.masked_fill(~s.mask.any(1), 0)[..., None])[..., 0]


class Histogram(Layer):
    """h_ik = sum of b_j over the words j whose s_ij is in bin k.   Grid, [B, R] -> [B, L, K]"""

    def __init__(self, bins: int) -> None:
        self.bins = bins

    def forward(self, s: Grid, b: Array) -> Array:
        x = s.x[:, 0].masked_fill(~s.mask, 0)  # [B, L, R]
        counts = b[:, None, :].expand_as(x).masked_fill(~s.mask, 0)
        return x.new_zeros(*x.shape[:2], self.bins).scatter_add(2, bin_index(x, self.bins), counts)
