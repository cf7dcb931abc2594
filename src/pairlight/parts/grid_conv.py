"""Neighbouring cells are read together: a convolution over a grid that knows where its texts end."""

import torch
from torch import nn
from torch.nn import functional as F

from pairlight.parts import Grid


class GridConv(nn.Module):
    """z_ij = sum over a, b of W_ab · s_i+a,j+b + bias, zeros standing around the grid: as many cells.   Grid -> Grid

    The window is centred on its cell; of an even window the extra row or column lies behind it.
    """

    def __init__(self, channels: int, maps: int, rows: int, columns: int) -> None:
        super().__init__()
        self.around = ((columns - 1) // 2, columns // 2, (rows - 1) // 2, rows // 2)
        self.filters = nn.Conv2d(channels, maps, (rows, columns))

    def forward(self, s: Grid) -> Grid:
        inside = s.mask[:, None]
        x = self.filters(F.pad(torch.where(inside, s.x, 0), self.around))  # [B, maps, L, R]
        return Grid(torch.where(inside, x, 0), s.mask)
