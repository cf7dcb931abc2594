"""Every position of one text meets every position of the other: Seq, Seq -> Grid."""

from collections.abc import Callable
from typing import NamedTuple

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


class Sides(NamedTuple):
    """Two sides whose product is a grid: s_ij = u_i·v_j + offset_i in every channel, or the relu of it."""

    u: Tensor  # [B, L, C, D], the left texts once, however many right ones they face
    v: Tensor  # [B, R, C, D], or [B, R, 1, D] where all channels share it
    offset: Tensor | None = None  # [B, L, C]
    relu: bool = False


class Product(Interaction):
    """An interaction that is a product, once each side is made ready for it: that work is done once a word."""

    def sides(self, u: Seq, v: Seq) -> Sides:
        raise TypeError(f"{type(self).__name__} has no sides: a product says what is multiplied.")

    def forward(self, u: Seq, v: Seq) -> Grid:
        ready = self.sides(u, v)
        s = product(ready)
        u, v = facing(u, v)
        if ready.offset is not None:
            s = s + ready.offset.repeat(len(s) // len(ready.offset), 1, 1).mT[..., None]
        return grid_of(u, v, s.relu() if ready.relu else s)

    def cells(self, u: Seq, v: Seq, k: int) -> Tensor:
        ready = self.sides(u, v)

        def own(x: Tensor) -> Tensor:
            """Of every cell what its own channel has, or what all share: -> [B, C, K, D]"""
            x = x.view(-1, self.channels, k, *x.shape[2:])
            return x[:, :, :, 0] if x.shape[3] == 1 else x.diagonal(dim1=1, dim2=3).movedim(-1, 1)

        s = (own(ready.u) * own(ready.v)).sum(-1)
        if ready.offset is not None:
            s = s + own(ready.offset[..., None])[..., 0]
        return s.relu() if ready.relu else s


def product(sides: Sides) -> Tensor:
    """u_i·v_j of every pair of positions, padding and all: [B, C, L, R]."""
    u, v = sides.u, sides.v
    u = u.repeat(len(v) // len(u), 1, 1, 1)
    B, L, C, _ = u.shape
    if C > 1 == v.shape[2]:  # one product for all channels
        return (u.flatten(1, 2) @ v[:, :, 0].mT).view(B, L, C, -1).transpose(1, 2)
    return u.transpose(1, 2) @ v.permute(0, 2, 3, 1)


class Cosine(Product):
    """s_ij = u_i·v_j / (|u_i| |v_j|)"""

    def sides(self, u: Seq, v: Seq) -> Sides:
        return Sides(unit(u.x)[:, :, None], unit(v.x)[:, :, None])


class CosineApart(Product):
    """Forward states with forward states, backward states with backward states: two channels of cosine.

    The form of the aMV-LSTM paper. The first half of a vector is the forward state, the second the backward one.
    """

    channels = 2

    def sides(self, u: Seq, v: Seq) -> Sides:
        a, b = (unit(side.x.unflatten(-1, (2, -1))) for side in (u, v))
        return Sides(a, b)


class Dot(Product):
    """s_ij = u_i·v_j"""

    def sides(self, u: Seq, v: Seq) -> Sides:
        return Sides(u.x[:, :, None], v.x[:, :, None])


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


class Bilinear(Product):
    """s_ij = u_i·M v_j + b"""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim, dim).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(torch.zeros(1))

    def sides(self, u: Seq, v: Seq) -> Sides:
        return Sides((u.x @ self.weight)[:, :, None], v.x[:, :, None], self.bias.expand(*u.mask.shape, 1))


class TensorLayer(Product):
    """s_ij = relu(u_i·M^c v_j + W^c [u_i ; v_j] + b^c) in every channel c: the neural tensor layer."""

    def __init__(self, dim: int, channels: int) -> None:
        super().__init__()
        self.channels = channels
        self.weight = nn.Parameter(torch.empty(channels, dim, dim).uniform_(-0.1, 0.1))
        self.linear = nn.Parameter(torch.empty(channels, 2 * dim).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(torch.zeros(channels))

    def sides(self, u: Seq, v: Seq) -> Sides:
        D = u.x.shape[-1]
        # u·M^c v + w_v·v = (u M^c + w_v)·v, so the right-hand linear part is folded in with the tensor.
        folded = F.linear(u.x, self.weight.mT.reshape(-1, D), self.linear[:, D:].flatten()).unflatten(-1, (-1, D))
        return Sides(folded, v.x[:, :, None], u.x @ self.linear[:, :D].mT + self.bias, relu=True)

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
