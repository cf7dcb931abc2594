"""A text becomes all it is made of: its words, its phrases short and long, and itself."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from pairlight.layers.convolution import WideConv
from pairlight.layers.kmax_pool import dynamic_kmax
from pairlight.layers.layer import Layer
from pairlight.layers.types import Seq


class Phrases(Layer):
    """y = f(W [z_t-m+1 ; .. ; z_t] + b), z = dynamic k-max of y for the next layer, at last 1.   Seq -> Seq

    Out come the words, every layer's y and the last z, one level after another, all of the same size.
    """

    def __init__(
        self, dim: int, width: int, layers: int, least: int, f: Callable[[Tensor], Tensor], bias: bool = True
    ) -> None:
        self.least, self.f = least, f
        self.convs = list(WideConv(dim, dim, width, bias) for _ in range(layers))

    def forward(self, u: Seq) -> Seq:
        levels, z = [u], u
        for layer, conv in enumerate(self.convs, 1):
            y = conv(z)
            y = replace(y, x=self.f(y.x))  # f(0) = 0: nothing behind the end of a text wakes
            levels.append(y)
            z = dynamic_kmax(y, u.lengths, layer, len(self.convs), self.least, 1)
        return joined([*levels, z])


def joined(levels: list[Seq]) -> Seq:
    """Sequences one behind the other, each text's own places moved together."""
    x, mask, ids = (torch.cat(parts, 1) for parts in zip(*((u.x, u.mask, u.ids) for u in levels), strict=True))
    most = int(mask.sum(1).max())
    order = mask.int().argsort(dim=1, descending=True, stable=True)[:, :most]
    mask = mask.gather(1, order)
    B, L, D = x.shape
    rows = (torch.arange(B, device=x.device)[:, None] * L + order).flatten()
    x = x.view(B * L, D).index_select(0, rows).view(B, most, D)  # whole rows: gather would go number by number
    return Seq(torch.where(mask[..., None], x, 0), mask, ids.gather(1, order))
