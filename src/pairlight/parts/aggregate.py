"""A grid of interactions, of any size, becomes a vector of fixed size: Grid -> [B, D]."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pairlight.parts import Grid


class KMax(nn.Module):
    """The k largest cells of every channel, largest first; zeros where a grid has fewer.   Grid -> [B, C·K]"""

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k

    def forward(self, s: Grid) -> Tensor:
        cells = s.x.masked_fill(~s.mask[:, None], -torch.inf).flatten(2)  # [B, C, L·R]
        top = cells.topk(min(self.k, cells.shape[-1]), -1).values
        top = top.masked_fill(top.isneginf(), 0)
        return F.pad(top, (0, self.k - top.shape[-1])).flatten(1)
