"""Word embeddings, with an optional attention gate that weights the words of a text."""

from typing import Annotated, Literal, TypedDict

from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Identity
from pairlight.layers.layer import Layer, embedding_parameter, parameter
from pairlight.layers.settings import Fraction, Size
from pairlight.layers.tracing import is_watched
from pairlight.layers.types import Array, LookedUpSeq, Seq, Tokens
from pairlight.text.tokenizer import PADDING, UNKNOWN

Gate = Literal["none", "left", "right", "both"]


class EmbeddingSettings(TypedDict, total=False):
    """The settings of `WordEmbedding`, shared by all models that read words."""

    dim: int
    dropout: float
    gate: str
    rescale: bool


class Embedding(Layer):
    """x_t = E[w_t].   Tokens -> Seq"""

    def __init__(self, vocab: int, dim: int, dropout: float = 0.0) -> None:
        self.vocab, self.dropout = vocab, dropout
        self.padding_id = PADDING
        self.sparse = False  # whether gradients have rows only for the words of the batch
        self.weight = embedding_parameter(vocab, dim, PADDING)

    def forward(self, tokens: Tokens) -> Seq:
        xp = array_namespace(tokens.ids)
        if xp.grad_enabled() or self.training or is_watched(self):
            x = self._vectors(tokens, xp.where(tokens.mask, tokens.ids, PADDING))
            return Seq(xp.dropout(x, self.dropout, self.training), tokens.mask, tokens.ids)
        distinct, at = xp.unique(xp.where(tokens.mask, tokens.ids, PADDING))
        return LookedUpSeq(self._vectors(tokens, distinct), at, tokens.mask, tokens.ids)

    def _vectors(self, tokens: Tokens, ids: Array) -> Array:
        """E of these ids, with the vectors of out-of-vocabulary words that have one."""
        xp = array_namespace(ids)
        x = xp.embedding(self.weight, xp.where(ids >= self.vocab, UNKNOWN, ids), PADDING, self.sparse)
        if tokens.oov_ids is None or not len(tokens.oov_ids):
            return x
        at = xp.clip(xp.searchsorted(tokens.oov_ids, ids), high=len(tokens.oov_ids) - 1)
        return xp.where((tokens.oov_ids[at] == ids)[..., None], xp.cast(xp.rows(tokens.oov_vectors, at), x), x)


class AttentionGate(Layer):
    """a_t = exp(w·x_t) / sum_j exp(w·x_j),  y_t = a_t x_t, or n a_t x_t if rescaled by the length n.   Seq -> Seq

    With the initial w = 0, the rescaled form leaves every vector unchanged.
    """

    def __init__(self, dim: int, rescale: bool) -> None:
        self.w = parameter(dim, bound=0)
        self.rescale = rescale

    def weights(self, u: Seq) -> Array:
        """a_t: [B, L]."""
        xp = array_namespace(u.x)
        return xp.softmax(xp.where(u.mask, u.x @ self.w, -float("inf")), 1)

    def factors(self, u: Seq) -> Array:
        """a_t, or n a_t if rescaled: [B, L]."""
        a = self.weights(u)
        return a * array_namespace(a).cast(u.lengths, a)[:, None] if self.rescale else a

    def forward(self, u: Seq) -> Seq:
        return u.with_x(u.x * self.factors(u)[..., None])


class WordEmbedding(Layer):
    """Word vectors of both texts, optionally gated.   Tokens, Tokens -> Seq, Seq

    Settings:
      dim      size of a word vector
      dropout  dropout probability of word vectors
      gate     texts whose words are weighted by attention: none, left, right or both
      rescale  multiply attention weights by the length of the text, so that they are 1 on average
    """

    def __init__(
        self,
        vocab: int,
        *,
        dim: Size = 50,
        dropout: Fraction = 0.0,
        gate: Annotated[str, Gate] = "none",
        rescale: bool = False,
    ) -> None:
        self.dim = dim
        self.embedding = Embedding(vocab, dim, dropout)
        self.left_gate = AttentionGate(dim, rescale) if gate in ("left", "both") else Identity()
        self.right_gate = AttentionGate(dim, rescale) if gate in ("right", "both") else Identity()

    def forward(self, left: Tokens, right: Tokens) -> tuple[Seq, Seq]:
        return self.left(left), self.right(right)

    def left(self, tokens: Tokens) -> Seq:
        u: Seq = self.left_gate(self.embedding(tokens))
        return u

    def right(self, tokens: Tokens) -> Seq:
        v: Seq = self.right_gate(self.embedding(tokens))
        return v
