"""How much two units of text are alike, as a number between 0 and 1: the match features of MultiGranCNN."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from pairlight.errors import InputError
from pairlight.parts import Grid, Seq, facing, grid_of
from pairlight.parts.interact import Bilinear, Gaussian, Interaction


class Direct(Gaussian):
    """s_ij = exp(-|u_i - v_j|² / 4)"""

    def forward(self, u: Seq, v: Seq) -> Grid:
        return super().forward(u.with_x(u.x / 2), v.with_x(v.x / 2))


class Concat(Interaction):
    """s_ij = w·[u_i ; v_j] + b"""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(dim, 1), nn.Linear(dim, 1, bias=False)

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = facing(u.with_x(self.left(u.x)), v.with_x(self.right(v.x)))
        return grid_of(u, v, (u.x + v.x.mT)[:, None])  # [B, 1, L, R]


class Through(Interaction):
    """s_ij = f(s_ij of another interaction)"""

    def __init__(self, inner: Interaction, f: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.inner, self.f = inner, f

    def forward(self, u: Seq, v: Seq) -> Grid:
        s: Grid = self.inner(u, v)
        return Grid(torch.where(s.mask[:, None], self.f(s.x), 0), s.mask)


def likeness_named(name: str, dim: int) -> Interaction:
    """The likeness a setting names."""
    makers: dict[str, Callable[[], Interaction]] = {
        "direct": Direct,
        "indirect": lambda: Through(Bilinear(dim), torch.sigmoid),
        "concat": lambda: Through(Concat(dim), torch.sigmoid),
    }
    if name not in makers:
        raise InputError(f"interaction={name!r} is none of {', '.join(makers)}.")
    return makers[name]()
