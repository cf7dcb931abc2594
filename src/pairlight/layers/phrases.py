"""MultiGranCNN's text encoder: one sequence of a text's words, phrases of growing length and the whole text."""

from collections.abc import Callable
from dataclasses import replace

from pairlight.layers.backends import array_namespace
from pairlight.layers.convolution import WideConv
from pairlight.layers.kmax_pool import dynamic_kmax_pool
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Seq


class Phrases(Layer):
    """y = f(W [z_t-m+1 ; .. ; z_t] + b), z = dynamic k-max pooling of y for the next layer, 1 at last.   Seq -> Seq

    The output is the words, y of every layer and the last z, concatenated along the sequence. All have the same size.
    """

    def __init__(
        self, dim: int, width: int, layers: int, least: int, f: Callable[[Array], Array], bias: bool = True
    ) -> None:
        self.least, self.f = least, f
        self.convs = [WideConv(dim, dim, width, bias) for _ in range(layers)]

    def forward(self, u: Seq) -> Seq:
        levels, z = [u], u
        for layer, conv in enumerate(self.convs, 1):
            y = conv(z)
            y = replace(y, x=self.f(y.x))  # f(0) = 0, so padding stays zero
            levels.append(y)
            z = dynamic_kmax_pool(y, u.lengths, layer, len(self.convs), self.least, 1)
        return concat_seqs([*levels, z])


def concat_seqs(levels: list[Seq]) -> Seq:
    """Sequences concatenated text by text, without padding in between."""
    xp = array_namespace(levels[0].x)
    x, mask, ids = (xp.cat(arrays, 1) for arrays in zip(*((u.x, u.mask, u.ids) for u in levels), strict=True))
    length = int(mask.sum(1).max())
    order = xp.argsort(~mask)[:, :length]
    mask = xp.take_along_axis(mask, order, 1)
    B, L, D = x.shape
    rows = (xp.arange(B, x)[:, None] * L + order).reshape(-1)
    x = xp.rows(x.reshape(B * L, D), rows).reshape(B, length, D)  # copies whole rows, unlike take_along_axis
    return Seq(xp.where(mask[..., None], x, 0), mask, xp.take_along_axis(ids, order, 1))
