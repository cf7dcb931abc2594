"""Dynamic max pooling of a grid of any size into a grid of fixed size."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Grid


class GridPool(Layer):
    """z_pq = the largest s_ij with i in segment p of the rows and j in segment q of the columns.   Grid -> Grid, P x Q

    `segments` divides the rows and columns of each pair by the lengths of its own texts.
    """

    def __init__(self, rows: int, columns: int, doubling: bool = False) -> None:
        self.rows, self.columns, self.doubling = rows, columns, doubling

    def forward(self, s: Grid) -> Grid:
        xp = array_namespace(s.x)
        i = segments(s.mask[:, :, 0].sum(1), self.rows, self.doubling)  # [B, P, W]
        j = segments(s.mask[:, 0].sum(1), self.columns, self.doubling)  # [B, Q, V]
        z = xp.segment_max(s.x, i, j)  # [B, C, P, Q]
        return Grid(z, xp.ones_like_ids(z[:, 0]))


def segments(lengths: Array, count: int, doubling: bool = False) -> Array:
    """The positions in each of `count` segments of a text, the last one of a segment repeated: [B] -> [B, count, W].

    With q = n div count and r = n mod count, the first count - r segments have q positions, the last r have q + 1.
    A text shorter than `count` is extended first: by starting over (1 2 3 1 2), as in Yin and Schütze, or with
    `doubling` by doubling each position (1 1 2 2 3 3) as often as needed, as in Socher et al.
    """
    xp = array_namespace(lengths)
    n = xp.clip(lengths[:, None], 1)  # [B, 1]
    repeats = n * 0 + 1
    if doubling:
        while (short := repeats * n < count).any():
            repeats = xp.where(short, 2 * repeats, repeats)
        extended = repeats * n
    else:
        extended = xp.clip(n, count)
    q, r = extended // count, extended % count
    p = xp.arange(count + 1, n)
    bounds = p * q + xp.clip(p - count + r, 0)  # [B, count + 1]
    step = xp.arange(int((bounds[:, 1:] - bounds[:, :-1]).max()), n)
    position = xp.minimum(bounds[:, :-1, None] + step, bounds[:, 1:, None] - 1)  # [B, count, W]
    return position // repeats[..., None] if doubling else position % n[..., None]
