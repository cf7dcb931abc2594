"""Words become vectors: a table of them, and the gate that weighs each word within its text."""

from typing import TypedDict

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pairlight.errors import InputError
from pairlight.parts import Seq, Tokens
from pairlight.text.tokenizer import PADDING, UNKNOWN

GATES = ("none", "left", "right", "both")


class WordSettings(TypedDict, total=False):
    """What every model that reads words may be told."""

    dim: int
    dropout: float
    gate: str
    rescale: bool


class Embed(nn.Module):
    """x_t = E[w_t].   Tokens -> Seq"""

    def __init__(self, vocab: int, dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.vocab = vocab
        self.table = nn.Embedding(vocab, dim, padding_idx=PADDING)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tokens) -> Seq:
        known = tokens.ids.masked_fill(tokens.ids >= self.vocab, UNKNOWN).masked_fill(~tokens.mask, PADDING)
        return Seq(self.dropout(self._rows(known)), tokens.mask, tokens.ids)

    def _rows(self, ids: Tensor) -> Tensor:
        if not (self.table.sparse and self.table.weight.requires_grad and torch.is_grad_enabled()):
            return self.table(ids)
        # Each distinct word once: its gradient is then summed in the order that the dense one is, to the same bits.
        words, place = ids.unique(return_inverse=True)
        return F.embedding(place, self.table(words))  # [B, L, D]


class Gate(nn.Module):
    """a_t = exp(w·x_t) / sum_j exp(w·x_j),  y_t = a_t x_t, or n a_t x_t where rescaled by the length n.   Seq -> Seq

    It starts at w = 0, where the rescaled form leaves every word as it is.
    """

    def __init__(self, dim: int, rescale: bool) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(dim))
        self.rescale = rescale

    def weights(self, u: Seq) -> Tensor:
        return (u.x @ self.w).masked_fill(~u.mask, -torch.inf).softmax(1)  # [B, L]

    def forward(self, u: Seq) -> Seq:
        a = self.weights(u)
        if self.rescale:
            a = a * u.lengths[:, None]
        return u.with_x(u.x * a[..., None])


class Words(nn.Module):
    """The vectors of both texts, each gated where asked for: the first line of every model that reads words.

    Settings:
      dim      size of a word's vector
      dropout  share of each word vector's entries silenced in training
      gate     which text's words are weighed by attention: none, left, right or both
      rescale  multiply the attention by the text's length, so that a word keeps its size on average
    """

    def __init__(
        self, vocab: int, *, dim: int = 50, dropout: float = 0.0, gate: str = "none", rescale: bool = False
    ) -> None:
        super().__init__()
        if gate not in GATES:
            raise InputError(f"gate={gate!r} is none of {', '.join(GATES)}.")
        self.dim = dim
        self.embed = Embed(vocab, dim, dropout)
        self.left = Gate(dim, rescale) if gate in ("left", "both") else nn.Identity()
        self.right = Gate(dim, rescale) if gate in ("right", "both") else nn.Identity()

    def forward(self, left: Tokens, right: Tokens) -> tuple[Seq, Seq]:
        return self.of_left(left), self.of_right(right)

    def of_left(self, tokens: Tokens) -> Seq:
        u: Seq = self.left(self.embed(tokens))
        return u

    def of_right(self, tokens: Tokens) -> Seq:
        v: Seq = self.right(self.embed(tokens))
        return v
