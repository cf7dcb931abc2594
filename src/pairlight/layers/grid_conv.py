"""Convolution over a grid, with zeros outside the two texts."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Conv2d
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Grid


class GridConv(Layer):
    """z_ij = sum over a, b of W_ab · s_i+a,j+b + bias, with as many cells as the grid.   Grid -> Grid

    Windows are centered on their cell; a window of even size has its extra row or column after the cell.
    """

    def __init__(self, channels: int, maps: int, rows: int, columns: int) -> None:
        # Zeros before and after the rows, before and after the columns.
        self.padding = ((rows - 1) // 2, rows // 2), ((columns - 1) // 2, columns // 2)
        self.filters = Conv2d(channels, maps, (rows, columns))

    def forward(self, s: Grid) -> Grid:
        xp = array_namespace(s.x)
        return Grid(xp.where(s.mask[:, None], self.filters(self.pad(s)), 0), s.mask)  # [B, maps, L, R]

    def pad(self, s: Grid) -> Array:
        xp = array_namespace(s.x)
        x: Array = xp.pad(xp.where(s.mask[:, None], s.x, 0), self.padding)  # [B, C, L + rows - 1, R + columns - 1]
        return x

    def at(self, s: Grid, i: Array, j: Array) -> Array:
        """z_ij of selected cells only.   Grid, [B, N], [B, N] -> [B, N, maps]"""
        xp = array_namespace(s.x)
        x = self.pad(s)
        B, C, height, width = x.shape
        rows, columns = self.filters.weight.shape[2:]
        window = xp.arange(rows, i)[:, None] * width + xp.arange(columns, i)
        positions = (i * width + j)[..., None] + window.reshape(-1)  # [B, N, rows·columns]
        index = xp.broadcast_to(positions.reshape(B, 1, -1), (B, C, positions.shape[1] * rows * columns))
        cells = xp.take_along_axis(x.reshape(B, C, height * width), index, 2).reshape(B, C, -1, rows * columns)
        flat = xp.transpose(cells, 1, 2).reshape(B, -1, C * rows * columns)
        y: Array = xp.linear(flat, self.filters.weight.reshape(len(self.filters.weight), -1), self.filters.bias)
        return y
