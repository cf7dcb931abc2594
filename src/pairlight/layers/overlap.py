"""Similarity of two texts as a whole: cosine of their means, and how well each text is covered by the other."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.interactions import unit
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Grid, Seq, tile_left_vectors


class MeanCosine(Layer):
    """cosine of the sums of u_i and of v_j.   Seq, Seq -> [B, 1]"""

    def forward(self, u: Seq, v: Seq) -> Array:
        a, b = tile_left_vectors(unit(u.x.sum(1)), unit(v.x.sum(1)))
        return (a * b).sum(-1)[:, None]


class Coverage(Layer):
    """[sum_i a_i max_j s_ij / sum_i a_i ; sum_j b_j max_i s_ij / sum_j b_j].   Grid, [B, L], [B, R] -> [B, 2]

    The first is how well the left words are covered by the right text, the second the reverse.
    """

    def forward(self, s: Grid, a: Array, b: Array) -> Array:
        xp = array_namespace(s.x)
        x = xp.where(s.mask, s.x[:, 0], -1)  # [B, L, R]
        left = (xp.amax(x, 2) * a).sum(1) / a.sum(1)
        right = (xp.amax(x, 1) * b).sum(1) / b.sum(1)
        return xp.cat([left[:, None], right[:, None]], 1)
