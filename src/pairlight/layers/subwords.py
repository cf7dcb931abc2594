"""Embeddings of subwords by static vectors, and a learned weight per subword."""

from functools import cache
from typing import Any

import numpy as np

from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer, parameter
from pairlight.layers.types import Array, Seq, Tokens
from pairlight.text.subwords import subword_vectors
from pairlight.text.tokenizer import PADDING

DIM = 256


@cache
def _static_table(backend: str) -> tuple[Any, float]:
    """The table of vectors in half precision, and the factor that makes their mean length 1."""
    table = subword_vectors()
    factor = 1 / float(np.linalg.norm(table.astype(np.float32), axis=1).mean())
    if backend == "numpy":
        return table, factor
    import torch

    return torch.from_numpy(table), factor


class StaticEmbedding(Layer):
    """x_t = E[w_t], with static vectors that are neither trained nor saved with the model.   Tokens -> Seq"""

    def __init__(self, dropout: float) -> None:
        self.dropout = dropout

    def forward(self, tokens: Tokens) -> Seq:
        xp = array_namespace(tokens.ids)
        table, factor = _static_table(xp.NAME)
        x = xp.half_rows(table, xp.where(tokens.mask, tokens.ids, PADDING)) * factor  # [B, L, D]
        x = xp.dropout(x, self.dropout, self.training)
        return Seq(xp.where(tokens.mask[..., None], x, 0), tokens.mask, tokens.ids)


class SubwordWeights(Layer):
    """r_t = |ρ[w_t]| + 0.001, how much a subword counts; 0 under padding.   Seq -> [B, L]"""

    def __init__(self, vocab: int) -> None:
        self.weight = parameter(vocab, bound=0)

    def set(self, values: Any) -> None:
        """Set the weights of all subwords."""
        array_namespace(self.weight).copy_into(self.weight, values)

    def forward(self, u: Seq) -> Array:
        xp = array_namespace(u.ids)
        known = u.mask & (u.ids < len(self.weight))
        r = abs(self.weight[xp.where(known, u.ids, PADDING)]) + 1e-3
        return xp.where(u.mask, r, 0)
