"""ARC's layers: a narrow convolution and max pooling over two neighbors, for texts of a fixed length.

A shorter text is treated as if filled up with zero vectors, a longer one is truncated, but positions that no text of
the batch has are never computed. The paper's gate, which sets windows of zero vectors to zero, is the mask here: a
window counts if it starts inside the text.
"""

from pairlight.core.errors import InputError
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Conv2d
from pairlight.layers.convolution import Conv, masked_seq
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Grid, Seq


class ConvPool(Layer):
    """y_t = W [x_t ; .. ; x_t+m-1] + b for t = 1 .. length - m + 1,   z_t = max(y_2t-1, y_2t).   Seq -> Seq"""

    def __init__(self, dim: int, maps: int, width: int, length: int, bias: bool = True) -> None:
        self.width, self.length = width, length
        self.conv = Conv(dim, maps, width, bias)

    def forward(self, u: Seq) -> Seq:
        y = self.conv(truncate(u, self.length))
        return max_pool_pairs(truncate(y, self.length - self.width + 1))


class GridConvPool(Layer):
    """y_ij = W · (m x m cells from s_ij on) + b,   z_ij = max(y_2i-1,2j-1 .. y_2i,2j).   Grid -> Grid"""

    def __init__(self, channels: int, maps: int, width: int, length: int) -> None:
        self.width, self.length = width, length
        self.filters = Conv2d(channels, maps, width)

    def forward(self, s: Grid) -> Grid:
        s = truncate_grid(s, self.length)
        extra = self.width - 1
        xp = array_namespace(s.x)
        y = self.filters(xp.pad(xp.where(s.mask[:, None], s.x, 0), [(0, extra), (0, extra)]))  # [B, maps, L, R]
        return max_pool_grid(truncate_grid(Grid(y, s.mask), self.length - extra))


class ConvPoolCNN(Layer):
    """Several `ConvPool` with relu, and all positions of the last one.   Seq -> [B, D]"""

    def __init__(self, dim: int, maps: int, width: int, layers: int, length: int) -> None:
        *lengths, self.final_length = pooled_lengths(length, width, layers)
        self.blocks = [ConvPool(maps if layer else dim, maps, width, n) for layer, n in enumerate(lengths)]
        self.features = maps * self.final_length

    def forward(self, u: Seq) -> Array:
        xp = array_namespace(u.x)
        for block in self.blocks:
            u = block(u)
            u = u.with_x(xp.relu(u.x))
        x: Array = xp.pad(u.x, [(0, self.final_length - u.x.shape[1]), (0, 0)])
        return x.reshape(len(x), -1)


class GridConvPoolCNN(Layer):
    """Several `GridConvPool` with relu, and all cells of the last one.   Grid -> [B, D]"""

    def __init__(self, channels: int, width: int, lengths: list[int]) -> None:
        *lengths, self.final_length = lengths
        self.blocks = [GridConvPool(channels, channels, width, n) for n in lengths]
        self.features = channels * self.final_length**2

    def forward(self, s: Grid) -> Array:
        xp = array_namespace(s.x)
        for block in self.blocks:
            s = block(s)
            s = Grid(xp.relu(s.x), s.mask)
        _, _, L, R = s.x.shape
        x: Array = xp.pad(s.x, [(0, self.final_length - L), (0, self.final_length - R)])
        return x.reshape(len(x), -1)


def pooled_lengths(length: int, width: int, layers: int) -> list[int]:
    """The length of a text before each layer and after the last one: 50, 24, 11 for two layers of width 3."""
    lengths = [length]
    for _ in range(layers):
        lengths.append((lengths[-1] - width + 2) // 2)
    if lengths[-1] < 1:
        minimum = 1
        for _ in range(layers):
            minimum = 2 * minimum - 1 + width - 1
        raise InputError(f"length={length} is too short for {layers} layers of width {width}: use at least {minimum}.")
    return lengths


def truncate(u: Seq, length: int) -> Seq:
    return Seq(u.x[:, :length], u.mask[:, :length], u.ids[:, :length])


def truncate_grid(s: Grid, length: int) -> Grid:
    """The first `length` rows and columns."""
    return Grid(s.x[:, :, :length, :length], s.mask[:, :length, :length])


def max_pool_pairs(u: Seq) -> Seq:
    """z_t = max(x_2t-1, x_2t); an odd last position is kept.   Seq -> Seq"""
    xp = array_namespace(u.x)
    lowest = -float("inf")
    x = xp.pad(xp.where(u.mask[..., None], u.x, lowest), [(0, u.x.shape[1] % 2), (0, 0)], lowest)
    return masked_seq(xp.maximum(x[:, ::2], x[:, 1::2]), u.mask[:, ::2])


def max_pool_grid(s: Grid) -> Grid:
    """The largest of every 2 x 2 cells; an odd last row or column is kept.   Grid -> Grid"""
    xp = array_namespace(s.x)
    x = xp.max_pool2d(xp.where(s.mask[:, None], s.x, -float("inf")), 2)
    mask = s.mask[:, ::2, ::2]
    return Grid(xp.where(mask[:, None], x, 0), mask)
