"""One-dimensional convolutions over a text, with zero vectors outside it."""

from pairlight.layers.backends import array_namespace
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
        xp = array_namespace(u.x)
        mask = xp.cat([xp.broadcast_to(u.mask[:, :1], (-1, extra)), u.mask], 1)
        return masked_seq(self.filters(unfold(u, self.width, extra, extra)), mask)


def unfold(u: Seq, width: int, before: int, after: int) -> Array:
    """All windows of `width` consecutive vectors, concatenated, with this many zero vectors around the text."""
    xp = array_namespace(u.x)
    x = xp.pad(u.with_x(u.x).x, [(before, after), (0, 0)])
    count = x.shape[1] - width + 1
    windows: Array = xp.cat([x[:, i : i + count] for i in range(width)], -1)  # [B, count, width·D]
    return windows


def masked_seq(x: Array, mask: Array) -> Seq:
    """A sequence of positions that are not words: its ids are 0."""
    xp = array_namespace(x)
    return Seq(xp.where(mask[..., None], x, 0), mask, xp.zeros_like_mask(mask))
