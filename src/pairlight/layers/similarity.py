"""The similarities of MultiGranCNN: between 0 and 1 for every pair of words or phrases."""

from collections.abc import Callable
from typing import Literal

from pairlight.core.errors import unknown_name
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear, Sigmoid
from pairlight.layers.interactions import Bilinear, Gaussian, Interaction
from pairlight.layers.types import Array, Grid, Seq, masked_grid, tile_left

SimilarityName = Literal["indirect", "direct", "concat"]


class Direct(Gaussian):
    """s_ij = exp(-|u_i - v_j|² / 4)"""

    def forward(self, u: Seq, v: Seq) -> Grid:
        return super().forward(u.with_x(u.x / 2), v.with_x(v.x / 2))


class Concat(Interaction):
    """s_ij = w·[u_i ; v_j] + b"""

    def __init__(self, dim: int) -> None:
        self.left, self.right = Linear(dim, 1), Linear(dim, 1, bias=False)

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = tile_left(u.with_x(self.left(u.x)), v.with_x(self.right(v.x)))
        return masked_grid(u, v, (u.x + array_namespace(u.x).transpose(v.x, 1, 2))[:, None])  # [B, 1, L, R]


class Activated(Interaction):
    """s_ij = f(s_ij of the inner interaction)"""

    def __init__(self, inner: Interaction, f: Callable[[Array], Array]) -> None:
        self.inner, self.f = inner, f

    def forward(self, u: Seq, v: Seq) -> Grid:
        s: Grid = self.inner(u, v)
        return Grid(array_namespace(s.x).where(s.mask[:, None], self.f(s.x), 0), s.mask)


def build_similarity(name: str, dim: int) -> Interaction:
    """The similarity with this name."""
    builders: dict[str, Callable[[], Interaction]] = {
        "direct": Direct,
        "indirect": lambda: Activated(Bilinear(dim), Sigmoid()),
        "concat": lambda: Activated(Concat(dim), Sigmoid()),
    }
    if name not in builders:
        raise unknown_name("interaction", name, builders)
    return builders[name]()
