"""Cosine similarity of words in which exactly 1 means an identical word."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.interactions import Interaction, unit
from pairlight.layers.types import Grid, Seq, masked_grid, tile_left

BELOW_ONE = 1 - 1e-6


class WordCosine(Interaction):
    """s_ij = 1 for identical words, 0 if either is out of vocabulary, else the cosine, below 1.   Seq, Seq -> Grid

    Out-of-vocabulary words share one vector, so their cosine says nothing. A word with a zero vector has similarity 0
    with all other words.
    """

    def __init__(self, vocab: int) -> None:
        self.vocab = vocab

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = tile_left(u, v)
        xp = array_namespace(u.x)
        cosine = xp.clip(xp.matmul(unit(u.x), xp.transpose(unit(v.x), 1, 2)), -1, BELOW_ONE)  # [B, L, R]
        oov = (u.ids >= self.vocab)[:, :, None] | (v.ids >= self.vocab)[:, None, :]
        same = u.ids[:, :, None] == v.ids[:, None, :]
        return masked_grid(u, v, xp.where(same, 1, xp.where(oov, 0, cosine))[:, None])  # [B, 1, L, R]
