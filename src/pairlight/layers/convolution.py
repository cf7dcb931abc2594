"""One-dimensional convolutions over a text, with zero vectors outside it."""

import torch
from torch.nn import functional as F

from pairlight.layers.basic import Linear
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Seq


class Conv(Layer):
    """y_t = W [x_t ; x_t+1 ; .. ; x_t+m-1] + b for t = 1 .. n, with zero vectors after the end.   Seq -> Seq

    A window of m = width words starts at every word. Without the last m - 1 outputs this is the narrow convolution.
    """

    def __init__(self, dim: int, maps: int, width: int, bias: bool = True) -> None:
        self.width = width
        self.filters = Linear(width * dim, maps, bias)

    def forward(self, u: Seq) -> Seq:
        return masked_seq(self.filters(unfold(u, self.width, 0, self.width - 1)), u.mask)


class WideConv(Layer):
    """y_t = W [x_t-m+1 ; .. ; x_t] + b for t = 1 .. n + m - 1, with zero vectors on both sides.   Seq -> Seq

    All windows of m = width words that overlap the text.
    """

    def __init__(self, dim: int, maps: int, width: int, bias: bool = True) -> None:
        self.width = width
        self.filters = Linear(width * dim, maps, bias)

    def forward(self, u: Seq) -> Seq:
        extra = self.width - 1
        mask = torch.cat([u.mask[:, :1].expand(-1, extra), u.mask], 1)
        return masked_seq(self.filters(unfold(u, self.width, extra, extra)), mask)


def unfold(u: Seq, width: int, before: int, after: int) -> Array:
    """All windows of `width` consecutive vectors, concatenated, with this many zero vectors around the text."""
    x = F.pad(u.with_x(u.x).x, (0, 0, before, after))
    count = x.shape[1] - width + 1
    return torch.cat([x[:, i : i + count] for i in range(width)], -1)  # [B, count, width·D]


def masked_seq(x: Array, mask: Array) -> Seq:
    """A sequence of positions that are not words: its ids are 0."""
    return Seq(torch.where(mask[..., None], x, 0), mask, torch.zeros_like(mask, dtype=torch.int64))
