"""Every position of one text meets every position of the other: Seq, Seq -> Grid."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pairlight.errors import InputError
from pairlight.parts import Grid, Seq, facing, grid_of

TINY = 1e-8


def unit(x: Tensor) -> Tensor:
    """Vectors at length 1; a zero vector stays zero."""
    return F.normalize(x, dim=-1, eps=TINY)


class Interaction(nn.Module):
    """What two sequences have to do with each other, in one channel or several.   Seq, Seq -> Grid"""

    channels: int = 1

    def cells(self, u: Seq, v: Seq, k: int) -> Tensor:
        """Single cells: the texts are one word long, k pairs of them for each channel of each pair.   -> [B, C, K]"""
        s = self(u, v).x.view(-1, self.channels, k, self.channels)
        return s.diagonal(dim1=1, dim2=3).mT  # each cell in its own channel


class Cosine(Interaction):
    """s_ij = u_i·v_j / (|u_i| |v_j|)"""

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = facing(u, v)
        return grid_of(u, v, (unit(u.x) @ unit(v.x).mT)[:, None])  # [B, 1, L, R]


class CosineApart(Interaction):
    """Forward states with forward states, backward states with backward states: two channels of cosine.

    The form of the aMV-LSTM paper. The first half of a vector is the forward state, the second the backward one.
    """

    channels = 2

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = facing(u, v)
        halves = zip(u.x.chunk(2, -1), v.x.chunk(2, -1), strict=True)
        return grid_of(u, v, torch.stack([unit(a) @ unit(b).mT for a, b in halves], 1))  # [B, 2, L, R]


class Dot(Interaction):
    """s_ij = u_i·v_j"""

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = facing(u, v)
        return grid_of(u, v, (u.x @ v.x.mT)[:, None])  # [B, 1, L, R]


class Indicator(Interaction):
    """s_ij = 1 where the two words are the same, else 0"""

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = facing(u, v)
        same = u.ids[:, :, None] == v.ids[:, None, :]  # [B, L, R]
        return grid_of(u, v, same[:, None].to(u.x.dtype))


class Gaussian(Interaction):
    """s_ij = exp(-|u_i - v_j|²)"""

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = facing(u, v)
        squares = u.x.square().sum(-1)[:, :, None] + v.x.square().sum(-1)[:, None, :]
        return grid_of(u, v, (2 * u.x @ v.x.mT - squares).clamp(max=0).exp()[:, None])  # [B, 1, L, R]


class Bilinear(Interaction):
    """s_ij = u_i·M v_j + b"""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim, dim).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, u: Seq, v: Seq) -> Grid:
        # Folding M into the left side before it is repeated: one product a text, not one a pair.
        u, v = facing(u.with_x(u.x @ self.weight), v)
        return grid_of(u, v, (u.x @ v.x.mT + self.bias)[:, None])  # [B, 1, L, R]


class TensorLayer(Interaction):
    """s_ij = relu(u_i·M^c v_j + W^c [u_i ; v_j] + b^c) in every channel c: the neural tensor layer."""

    def __init__(self, dim: int, channels: int) -> None:
        super().__init__()
        self.channels = channels
        self.weight = nn.Parameter(torch.empty(channels, dim, dim).uniform_(-0.1, 0.1))
        self.linear = nn.Parameter(torch.empty(channels, 2 * dim).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, u: Seq, v: Seq) -> Grid:
        D = u.x.shape[-1]
        # u·M^c v + w_v·v = (u M^c + w_v)·v, so the right-hand linear part is folded in with the tensor.
        folded = torch.einsum("bld,cde->blce", u.x, self.weight) + self.linear[:, D:]  # [B, L, C, D]
        own = u.x @ self.linear[:, :D].mT + self.bias  # [B, L, C]
        u, v = facing(u.with_x(torch.cat([folded.flatten(2), own], -1)), v)
        B, L, _ = u.x.shape
        folded, own = u.x.split([self.channels * D, self.channels], -1)
        s = folded.reshape(B, L * self.channels, D) @ v.x.mT  # [B, L·C, R]
        s = (s.view(B, L, self.channels, -1) + own[..., None]).transpose(1, 2)  # [B, C, L, R]
        return grid_of(u, v, s.relu())

    def cells(self, u: Seq, v: Seq, k: int) -> Tensor:
        # Channel by channel: a cell is wanted in one of them, and each would fold the word anew.
        C, D, _ = self.weight.shape
        a, b = (side.x.view(-1, C, k, D) for side in (u, v))  # [B, C, K, D]
        folded = torch.einsum("bckd,cde->bcke", a, self.weight) + self.linear[:, None, D:]
        own = (a * self.linear[:, None, :D]).sum(-1) + self.bias[:, None]  # [B, C, K]
        return ((folded * b).sum(-1) + own).relu()


def interaction_named(name: str, dim: int, channels: int = 1) -> Interaction:
    """The interaction a setting names; `channels` counts for the tensor alone."""
    makers: dict[str, Callable[[], Interaction]] = {
        "cosine": Cosine,
        "cosine-apart": CosineApart,
        "dot": Dot,
        "indicator": Indicator,
        "gaussian": Gaussian,
        "bilinear": lambda: Bilinear(dim),
        "tensor": lambda: TensorLayer(dim, channels),
    }
    if name not in makers:
        raise InputError(f"interaction={name!r} is none of {', '.join(makers)}.")
    return makers[name]()
