"""Words meet by the angle between their vectors, except that the same word is the same whatever its vector."""

from pairlight.layers.interactions import Interaction, unit
from pairlight.layers.types import Grid, Seq, masked_grid, tile_left

BELOW_ONE = 1 - 1e-6


class WordCosine(Interaction):
    """s_ij = 1 for the same word, 0 where either is unknown, else the cosine, below 1.   Seq, Seq -> Grid

    So 1 always means the same word and nothing else does: unknown words share one vector and would all look alike. A
    word whose vector is 0 has 0 with all others too.
    """

    def __init__(self, vocab: int) -> None:
        self.vocab = vocab

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = tile_left(u, v)
        cosine = (unit(u.x) @ unit(v.x).mT).clamp(-1, BELOW_ONE)  # [B, L, R]
        strange = (u.ids >= self.vocab)[:, :, None] | (v.ids >= self.vocab)[:, None, :]
        same = u.ids[:, :, None] == v.ids[:, None, :]
        return masked_grid(u, v, cosine.masked_fill(strange, 0).masked_fill(same, 1)[:, None])  # [B, 1, L, R]
