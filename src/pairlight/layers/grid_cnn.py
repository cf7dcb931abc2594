"""A grid of any size becomes a vector: pooled to a fixed size, then convolved and pooled again, block after block."""

from torch import Tensor

from pairlight.layers.basic import Conv2d
from pairlight.layers.grid_pool import GridPool
from pairlight.layers.layer import Layer
from pairlight.layers.types import Grid


class GridCNN(Layer):
    """z = the grid pooled to side x side; then in every block z = tanh(W * z + b) pooled to its side.   Grid -> [B, D]

    The windows of the convolutions are all that touch the grid. Each block is (maps, side). tanh keeps the order of
    numbers, so that it may come after the pooling, where fewer are left.
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

    def forward(self, s: Grid) -> Tensor:
        z: Tensor = self.first(s).x  # [B, 1, side, side]
        for conv, pool in zip(self.convs, self.pools, strict=True):
            y = conv(z)
            z = pool(Grid(y, s.mask.new_ones(len(y), *y.shape[2:]))).x.tanh()
        return z.flatten(1)
