"""Embeddings of subwords by static vectors, those of words in the same form, and a learned weight per token."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from pairlight.core.errors import InputError
from pairlight.kernels.native.library import UNKNOWN_WORD
from pairlight.kernels.native.pair_features import EPSILON
from pairlight.layers.backends import array_namespace
from pairlight.layers.embedding import Embedding
from pairlight.layers.layer import Layer, buffer, parameter
from pairlight.layers.types import Array, Seq, Tokens
from pairlight.text.subwords import DIM as DIM
from pairlight.text.subwords import subword_vectors
from pairlight.text.tokenizer import PADDING

BLOCK = 16  # rows of a table that are computed together
SCALE = 0.07258759445048701  # makes the mean length of the static vectors 1


class UnitRows:
    """The vectors of subwords with length 1, and their lengths: tables whose rows are computed when texts need them.

    They are computed in fixed blocks, so that a row does not depend on what was computed before. The others take no
    memory.
    """

    def __init__(self, like: Array) -> None:
        xp, count = array_namespace(like), len(subword_vectors())
        self.units, self.norms = xp.sparse_zeros((count, DIM), like), xp.zeros((count,), like)
        self._filled = np.zeros(count, np.bool_)

    def fill(self, vectors: Callable[[Array], Array], *texts: Tokens) -> tuple[Array, Array]:
        """Both tables, with the rows of these texts, whose vectors are given by id: [32000, 256], [32000]."""
        xp = array_namespace(self.norms)
        for tokens in texts:
            of = array_namespace(tokens.ids)  # NumPy arrays for stored texts
            ids = of.to_numpy(of.where(tokens.mask, tokens.ids, PADDING))
            if ids.size and not 0 <= ids.min() <= ids.max() < len(self._filled):  # of a damaged file
                raise InputError(UNKNOWN_WORD)
            # The distinct blocks, ascending: np.unique would import a large module first.
            for block in np.flatnonzero(np.bincount(ids[~self._filled[ids]] // BLOCK)).tolist():
                at = slice(block * BLOCK, min((block + 1) * BLOCK, len(self.units)))
                x = vectors(xp.arange(at.stop - at.start, self.norms) + at.start)
                norms = xp.clip((x * x).sum(-1) ** 0.5, low=EPSILON)  # the product of both is x, whatever its length
                self.units[at], self.norms[at] = x / norms[:, None], norms
                self._filled[at] = True
        return self.units, self.norms


@cache
def _static_units() -> UnitRows:
    like: Any = np.zeros(0, np.float32)
    return UnitRows(like)


def static_units(*texts: Tokens) -> tuple[Any, Any]:
    """The static vectors with length 1, and their lengths, with the rows of these texts."""
    units, norms = _static_units().fill(static_rows, *texts)
    ids = texts[0].ids
    xp = array_namespace(ids)
    return xp.from_numpy(units, ids), xp.from_numpy(norms, ids)


def static_rows(ids: Array) -> Array:
    """The static vectors of these subwords, of mean length 1: [..., 256]."""
    xp = array_namespace(ids)
    x: Array = xp.half_rows(xp.from_numpy(subword_vectors(), ids), ids) * SCALE
    return x


def masked_rows(x: Array, tokens: Tokens) -> Seq:
    """The vectors of these tokens, zero under padding."""
    if not bool(tokens.mask.all()):  # a copy that texts of equal length do not need
        x = array_namespace(x).where(tokens.mask[..., None], x, 0)
    return Seq(x, tokens.mask, tokens.ids)


class StaticEmbedding(Layer):
    """x_t = E[w_t], with static vectors that are neither trained nor saved with the model.   Tokens -> Seq"""

    def forward(self, tokens: Tokens) -> Seq:
        xp = array_namespace(tokens.ids)
        x = static_rows(xp.where(tokens.mask, tokens.ids, PADDING))  # [B, L, D]
        return masked_rows(x, tokens)


class ProjectedEmbedding(Layer):
    """x_t = (E[w_t] + D[w_t]) P, where P starts as the identity and D at zero.   Tokens -> Seq

    D has rows only for the subwords whose vectors are trained; only these are saved. When nothing is trained, the rows
    of (E + D) P are computed once, when they are first needed, and kept as vectors of length 1 with their lengths.
    """

    def __init__(self, dropout: float) -> None:
        self.dropout = dropout
        self.project = parameter(DIM, DIM, bound=0)
        self.rows: Any = None  # the subwords of D, ascending; None if no vectors are trained
        self.change: Any = None  # D
        self._projected: tuple[Any, UnitRows] | None = None  # what it was computed from, and the rows of (E + D) P

    def adjust_start(self) -> None:
        array_namespace(self.project).copy_into(self.project, np.eye(DIM, dtype=np.float32))

    def tune(self, rows: Any) -> None:
        """Train the vectors of these subwords too, in addition to those that are trained already."""
        xp = array_namespace(self.project)
        known = np.zeros(0, np.int64) if self.rows is None else xp.to_numpy(self.rows)
        new = np.union1d(known, rows)
        change = np.zeros((len(new), DIM), np.float32)
        if self.change is not None:
            change[np.searchsorted(new, known)] = xp.to_numpy(self.change)
        self.rows, self.change = buffer(len(new), dtype="int64"), parameter(len(new), DIM, bound=0)
        xp.copy_into(self.rows, new)
        xp.copy_into(self.change, change)

    def forward(self, tokens: Tokens) -> Seq:
        xp = array_namespace(tokens.ids)
        ids = xp.where(tokens.mask, tokens.ids, PADDING)
        if xp.grad_enabled():
            self._projected = None  # a fused optimizer changes weights without a new version
            distinct, at = xp.unique(ids)  # each subword is projected once
            vectors = xp.dropout(self._vectors(distinct), self.dropout, self.training)
            x = xp.rows(xp.matmul(vectors, self.project), at)
        else:
            units, norms = self.unit_rows(tokens)
            x = xp.rows(units, ids) * norms[ids][..., None]
        return masked_rows(x, tokens)

    def _vectors(self, ids: Array) -> Array:
        """E + D of these subwords."""
        xp = array_namespace(ids)
        x = xp.cast(static_rows(ids), self.project)
        if self.rows is None:
            return x
        at = xp.clip(xp.searchsorted(self.rows, ids), high=len(self.rows) - 1)
        return x + xp.rows(self.change, at) * xp.cast(self.rows[at] == ids, self.change)[..., None]

    def unit_rows(self, *texts: Tokens) -> tuple[Array, Array]:
        """The rows of (E + D) P with length 1, and their lengths: tables that are filled as these texts need them."""
        xp = array_namespace(self.project)
        version = [xp.version(each) for each in (self.project, self.change) if each is not None]
        kept = self._projected
        if kept is None or kept[0] != version:
            kept = self._projected = version, UnitRows(self.project)
        return kept[1].fill(lambda ids: xp.matmul(self._vectors(ids), self.project), *texts)


class ProjectedWords(Layer):
    """x_t = E[w_t] P, with a table E of word vectors, where P starts as the identity.   Tokens -> Seq"""

    def __init__(self, vocab: int, dim: int, dropout: float) -> None:
        self.embedding = Embedding(vocab, dim, dropout)
        self.project = parameter(dim, dim, bound=0)

    def adjust_start(self) -> None:
        array_namespace(self.project).copy_into(self.project, np.eye(len(self.project), dtype=np.float32))

    def forward(self, tokens: Tokens) -> Seq:
        u: Seq = self.embedding(tokens)
        return u.with_x(array_namespace(u.x).matmul(u.x, self.project))


class TokenWeights(Layer):
    """r_t = |ρ[w_t]| + 0.001, how much a word or subword counts; 0 under padding.   Seq -> [B, L]"""

    def __init__(self, vocab: int) -> None:
        self.weight = parameter(vocab, bound=0)

    def set(self, values: Any) -> None:
        """Set the weights of the whole vocabulary."""
        array_namespace(self.weight).copy_into(self.weight, values)

    def forward(self, u: Seq) -> Array:
        xp = array_namespace(u.ids)
        known = u.mask & (u.ids < len(self.weight))
        return xp.where(u.mask, _positive(self.weight[xp.where(known, u.ids, PADDING)]), 0)

    def of_vocabulary(self) -> Array:
        """The weights of the whole vocabulary; other tokens have that of padding."""
        return _positive(self.weight)


def _positive(weight: Array) -> Array:
    return abs(weight) + 1e-3
