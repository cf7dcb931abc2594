"""A narrow convolution, then the larger of every two neighbours: ARC's layers, on texts of a fixed length.

A shorter text stands for one filled up with zero vectors, a longer one for its first words; yet no place that the
texts of a batch do not reach is ever computed. The gate of the paper, which silences what the zero vectors alone
would give, is the mask: a place is on where its window begins inside the text.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from pairlight.core.errors import InputError
from pairlight.layers.basic import Conv2d
from pairlight.layers.convolution import Conv, of_windows
from pairlight.layers.layer import Layer
from pairlight.layers.types import Grid, Seq


class ConvPool(Layer):
    """y_t = W [x_t ; .. ; x_t+m-1] + b for t = 1 .. length - m + 1,   z_t = max(y_2t-1, y_2t).   Seq -> Seq"""

    def __init__(self, dim: int, maps: int, width: int, length: int, bias: bool = True) -> None:
        self.length, self.whole = length, length - width + 1
        self.conv = Conv(dim, maps, width, bias)

    def forward(self, u: Seq) -> Seq:
        return halved(cut(self.conv(cut(u, self.length)), self.whole))


class GridConvPool(Layer):
    """y_ij = W · (m x m cells from s_ij on) + b,   z_ij = the largest of y_2i-1,2j-1 .. y_2i,2j.   Grid -> Grid"""

    def __init__(self, channels: int, maps: int, width: int, length: int) -> None:
        self.more, self.length, self.whole = width - 1, length, length - width + 1
        self.filters = Conv2d(channels, maps, width)

    def forward(self, s: Grid) -> Grid:
        s = cut_grid(s, self.length)
        x = self.filters(F.pad(torch.where(s.mask[:, None], s.x, 0), (0, self.more, 0, self.more)))  # [B, maps, L, R]
        return halved_grid(cut_grid(Grid(x, s.mask), self.whole))


class ConvPoolCNN(Layer):
    """relu of one `ConvPool` after another, every place kept.   Seq -> [B, D]"""

    def __init__(self, dim: int, maps: int, width: int, layers: int, length: int) -> None:
        *before, self.last = places(length, width, layers)
        self.halvings = list(ConvPool(maps if layer else dim, maps, width, place) for layer, place in enumerate(before))
        self.features = maps * self.last

    def forward(self, u: Seq) -> Tensor:
        for halving in self.halvings:
            u = halving(u)
            u = u.with_x(u.x.relu())
        return F.pad(u.x, (0, 0, 0, self.last - u.x.shape[1])).flatten(1)


class GridConvPoolCNN(Layer):
    """relu of one `GridConvPool` after another, every cell kept.   Grid -> [B, D]"""

    def __init__(self, channels: int, width: int, lengths: list[int]) -> None:
        *before, self.last = lengths
        self.halvings = list(GridConvPool(channels, channels, width, place) for place in before)
        self.features = channels * self.last**2

    def forward(self, s: Grid) -> Tensor:
        for halving in self.halvings:
            s = halving(s)
            s = Grid(s.x.relu(), s.mask)
        _, _, L, R = s.x.shape
        return F.pad(s.x, (0, self.last - R, 0, self.last - L)).flatten(1)


def places(length: int, width: int, layers: int) -> list[int]:
    """How many places a text has before each of the layers, and behind the last: 50, 24, 11 for two of width 3."""
    found = [length]
    for _ in range(layers):
        found.append((found[-1] - width + 2) // 2)
    if found[-1] < 1:
        least = 1
        for _ in range(layers):
            least = 2 * least - 1 + width - 1
        raise InputError(f"length={length} is too short for {layers} layers of width {width}: give at least {least}.")
    return found


def cut(u: Seq, most: int) -> Seq:
    """The first places, at most so many."""
    return Seq(u.x[:, :most], u.mask[:, :most], u.ids[:, :most])


def cut_grid(s: Grid, most: int) -> Grid:
    """The first rows and columns, at most so many of each."""
    return Grid(s.x[:, :, :most, :most], s.mask[:, :most, :most])


def halved(u: Seq) -> Seq:
    """z_t = max(x_2t-1, x_2t); where a text ends between them, the one there is.   Seq -> Seq"""
    x = F.pad(torch.where(u.mask[..., None], u.x, -torch.inf), (0, 0, 0, u.x.shape[1] % 2), value=-torch.inf)
    return of_windows(torch.maximum(x[:, ::2], x[:, 1::2]), u.mask[:, ::2])


def halved_grid(s: Grid) -> Grid:
    """The largest of every 2 x 2 cells; at the edge, of those there are.   Grid -> Grid"""
    x = F.max_pool2d(torch.where(s.mask[:, None], s.x, -torch.inf), 2, ceil_mode=True)
    mask = s.mask[:, ::2, ::2]
    return Grid(torch.where(mask[:, None], x, 0), mask)
