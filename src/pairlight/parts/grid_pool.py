"""A grid of any size becomes one of fixed size: cut by each pair's own lengths, the largest of every piece kept."""

import torch
from torch import Tensor, nn

from pairlight.parts import Grid


class GridPool(nn.Module):
    """z_pq = the largest s_ij with i in piece p of the rows and j in piece q of the columns.   Grid -> Grid of P x Q

    Rows and columns are cut apart by `pieces`. The gradient goes to the largest cell. For the smallest, negate.
    """

    def __init__(self, rows: int, columns: int, doubling: bool = False) -> None:
        super().__init__()
        self.rows, self.columns, self.doubling = rows, columns, doubling

    def forward(self, s: Grid) -> Grid:
        B, C, _, R = s.x.shape
        i = pieces(s.mask[:, :, 0].sum(1), self.rows, self.doubling)  # [B, P, W]
        j = pieces(s.mask[:, 0].sum(1), self.columns, self.doubling)  # [B, Q, V]
        cells = i[:, :, None, :, None] * R + j[:, None, :, None, :]  # [B, P, Q, W, V]
        cells = cells.view(B, 1, self.rows * self.columns, -1).expand(-1, C, -1, -1)
        x = s.x.flatten(2)  # [B, C, L·R]
        with torch.no_grad():  # only the winners are gathered for the gradient: far fewer cells
            best = x.gather(2, cells.flatten(2)).view(cells.shape).argmax(-1, keepdim=True)
        z = x.gather(2, cells.gather(-1, best)[..., 0]).view(B, C, self.rows, self.columns)
        return Grid(z, s.mask.new_ones(B, self.rows, self.columns))


def pieces(lengths: Tensor, count: int, doubling: bool = False) -> Tensor:
    """Which positions each of `count` pieces of a text covers: [B] -> [B, count, W], a piece's last one repeated.

    With q = n div count and r = n mod count, the first count - r pieces have q positions, the last r have q + 1.
    A text shorter than `count` is lengthened first: it begins anew (1 2 3 1 2), the way of Yin and Schuetze, or with
    `doubling` each position is doubled in place (1 1 2 2 3 3), again and again till there are enough, Socher's way.
    """
    n = lengths[:, None].clamp(min=1)  # [B, 1]
    if doubling:
        fold = torch.ones_like(n)
        while (short := fold * n < count).any():
            fold = torch.where(short, 2 * fold, fold)
        whole = fold * n
    else:
        whole = n.clamp(min=count)
    q, r = whole // count, whole % count
    p = torch.arange(count + 1, device=n.device)
    bounds = p * q + (p - count + r).clamp(min=0)  # [B, count + 1]
    step = torch.arange(int(bounds.diff(dim=1).max()), device=n.device)
    place = torch.minimum(bounds[:, :-1, None] + step, bounds[:, 1:, None] - 1)  # [B, count, W]
    return place // fold[..., None] if doubling else place % n[..., None]
