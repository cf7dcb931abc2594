"""What counts of a similarity is the bin its value falls in, from -1 to 1, not where it stands."""

from torch import Tensor

from pairlight.layers.layer import Layer, parameter
from pairlight.layers.types import Grid


def bin_of(s: Tensor, bins: int) -> Tensor:
    """⌊(s + 1) / 2 · (bins - 1)⌋: equal bins from -1 up to 1, and the last for exactly 1"""
    return ((s + 1) / 2 * (bins - 1)).long()


class BinWeights(Layer):
    """z_i = sum_j b_j w_k s_ij, k the bin of s_ij: one weight a bin, shared by all positions.   Grid, [B, R] -> [B, L]

    The same as w · x_i where x_ik is the sum of the values in bin k, without laying out x. It starts at w = 0.
    """

    def __init__(self, bins: int) -> None:
        self.w = parameter(bins, bound=0)

    def forward(self, s: Grid, b: Tensor) -> Tensor:
        x = s.x[:, 0].masked_fill(~s.mask, 0)  # [B, L, R]
        # gather, because the gradient of plain indexing sorts the places first.
        w = self.w.gather(0, bin_of(x, len(self.w)).flatten()).view_as(x)
        return ((w * x) @ b.masked_fill(~s.mask.any(1), 0)[..., None])[..., 0]


class Histogram(Layer):
    """h_ik = sum of b_j over the words j whose s_ij lies in bin k.   Grid, [B, R] -> [B, L, K]"""

    def __init__(self, bins: int) -> None:
        self.bins = bins

    def forward(self, s: Grid, b: Tensor) -> Tensor:
        x = s.x[:, 0].masked_fill(~s.mask, 0)  # [B, L, R]
        counted = b[:, None, :].expand_as(x).masked_fill(~s.mask, 0)
        return x.new_zeros(*x.shape[:2], self.bins).scatter_add(2, bin_of(x, self.bins), counted)
