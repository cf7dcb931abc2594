"""A convolutional network over a grid of any size."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Conv2d
from pairlight.layers.grid_pool import GridPool
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Grid


class GridCNN(Layer):
    """z = s pooled to side x side, then z = tanh(W * z + b) pooled to the side of each block.   Grid -> [B, D]

    The convolutions use all windows that overlap the grid. A block is (maps, side). tanh is monotonic, so it follows
    the pooling, where fewer values are left.
    """

    def __init__(self, side: int, blocks: list[tuple[int, int]], window: int) -> None:
        self.first = GridPool(side, side)
        self.convs, self.pools = [], []
        channels = 1
        for maps, smaller in blocks:
            self.convs.append(Conv2d(channels, maps, window, padding=window - 1))
            self.pools.append(GridPool(smaller, smaller))
            channels, side = maps, smaller
        self.features = channels * side**2

    def forward(self, s: Grid) -> Array:
        z: Array = self.first(s).x  # [B, 1, side, side]
        for conv, pool in zip(self.convs, self.pools, strict=True):
            y = conv(z)
            xp = array_namespace(y)
            z = xp.tanh(pool(Grid(y, xp.ones_like_ids(y[:, 0]))).x)
        return z.reshape(len(z), -1)
