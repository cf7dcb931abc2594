"""Neighbouring cells are read together: a convolution over a grid that knows where its texts end."""

import torch
from torch import Tensor, nn
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
        return Grid(torch.where(s.mask[:, None], self.filters(self.padded(s)), 0), s.mask)  # [B, maps, L, R]

    def padded(self, s: Grid) -> Tensor:
        return F.pad(torch.where(s.mask[:, None], s.x, 0), self.around)  # [B, C, L + rows - 1, R + columns - 1]

    def at(self, s: Grid, i: Tensor, j: Tensor) -> Tensor:
        """The same for some cells alone.   Grid, [B, N], [B, N] -> [B, N, maps]"""
        x = self.padded(s)
        B, C, _, wide = x.shape
        rows, columns = self.filters.kernel_size
        window = torch.arange(rows, device=i.device)[:, None] * wide + torch.arange(columns, device=i.device)
        places = (i * wide + j)[..., None] + window.flatten()  # [B, N, rows·columns]
        cells = x.flatten(2).gather(2, places.flatten(1)[:, None].expand(-1, C, -1)).view(B, C, *places.shape[1:])
        return F.linear(cells.transpose(1, 2).flatten(2), self.filters.weight.flatten(1), self.filters.bias)
