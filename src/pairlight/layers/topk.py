"""k-max pooling of a grid into a vector of fixed size.   Grid -> [B, D]"""

from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Grid


class KMax(Layer):
    """The k largest cells of every channel, largest first, padded with zeros.   Grid -> [B, C·K]"""

    def __init__(self, k: int) -> None:
        self.k = k

    def forward(self, s: Grid) -> Array:
        xp = array_namespace(s.x)
        B, C, L, R = s.x.shape
        cells = xp.where(s.mask[:, None], s.x, -float("inf")).reshape(B, C, L * R)
        top = xp.topk(cells, min(self.k, L * R))
        top = xp.where(top == -float("inf"), 0, top)
        return xp.pad(top, [(0, self.k - top.shape[-1])]).reshape(B, C * self.k)
