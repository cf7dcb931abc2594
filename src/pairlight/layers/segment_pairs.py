"""ARC-II's first layer: a convolution over pairs of segments, followed by max pooling."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.conv_pool import ConvPool
from pairlight.layers.layer import Layer
from pairlight.layers.types import Grid, Seq, masked_grid, tile_left


class SegmentPairs(Layer):
    """y_ij = relu(W [x_i ; .. ; x_i+m-1 ; y_j ; .. ; y_j+m-1] + b),   z_ij = max(y_2i-1,2j-1 .. y_2i,2j).

    W = [A B] has one part for each text, and the maximum of a_i + b_j over a block is the sum of the two maxima, so the
    grid is never computed at its full size.   Seq, Seq -> Grid
    """

    def __init__(self, dim: int, maps: int, width: int, length: int) -> None:
        self.left = ConvPool(dim, maps, width, length, bias=False)
        self.right = ConvPool(dim, maps, width, length)

    def forward(self, u: Seq, v: Seq) -> Grid:
        a, b = tile_left(self.left(u), self.right(v))
        xp = array_namespace(a.x)
        s = xp.transpose(a.x, 1, 2)[..., None] + xp.transpose(b.x, 1, 2)[:, :, None]  # [B, maps, L, R]
        return masked_grid(a, b, xp.relu(s))
