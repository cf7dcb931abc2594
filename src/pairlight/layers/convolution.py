"""Neighbouring words are read together: one-dimensional convolutions that know where a text ends."""

import torch
from torch import Tensor
from torch.nn import functional as F

from pairlight.layers.basic import Linear
from pairlight.layers.layer import Layer
from pairlight.layers.types import Seq


class Conv(Layer):
    """y_t = W [x_t ; x_t+1 ; .. ; x_t+m-1] + b, zero vectors standing behind the end: n outputs.   Seq -> Seq

    Every word begins a window of m = width words. Those that lie in the text whole, all but the last m - 1,
    are the narrow convolution.
    """

    def __init__(self, dim: int, maps: int, width: int, bias: bool = True) -> None:
        self.width = width
        self.filters = Linear(width * dim, maps, bias)

    def forward(self, u: Seq) -> Seq:
        return of_windows(self.filters(windows(u, self.width, 0, self.width - 1)), u.mask)


class WideConv(Layer):
    """y_t = W [x_t-m+1 ; .. ; x_t] + b, zero vectors standing on both sides: n + m - 1 outputs.   Seq -> Seq

    Every window of m = width words that touches the text.
    """

    def __init__(self, dim: int, maps: int, width: int, bias: bool = True) -> None:
        self.width = width
        self.filters = Linear(width * dim, maps, bias)

    def forward(self, u: Seq) -> Seq:
        more = self.width - 1
        mask = torch.cat([u.mask[:, :1].expand(-1, more), u.mask], 1)
        return of_windows(self.filters(windows(u, self.width, more, more)), mask)


def windows(u: Seq, width: int, before: int, after: int) -> Tensor:
    """Every run of `width` neighbours, end to end, with so many zero vectors around the text."""
    x = F.pad(u.with_x(u.x).x, (0, 0, before, after))
    count = x.shape[1] - width + 1
    return torch.cat([x[:, i : i + count] for i in range(width)], -1)  # [B, count, width·D]


def of_windows(x: Tensor, mask: Tensor) -> Seq:
    """A sequence whose places are no words any more: their ids are 0."""
    return Seq(torch.where(mask[..., None], x, 0), mask, torch.zeros_like(mask, dtype=torch.int64))
