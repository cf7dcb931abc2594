"""DRMM-TKS: a small network scores the k largest similarities of each left word."""

from typing import Annotated, Unpack

from pairlight.layers.attention import embed_with_attention
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear, Sequential, Tanh
from pairlight.layers.embedding import EmbeddingSettings, Gate, WordEmbedding
from pairlight.layers.heads import WeightedSum
from pairlight.layers.settings import Size
from pairlight.layers.types import Array, Grid, Tokens
from pairlight.layers.word_cosine import WordCosine
from pairlight.models.base import PairModel
from pairlight.text.inputs import WORDS


class DRMMTKS(PairModel):
    """Score the k largest similarities of each left word, and weight the words by attention.

    s_ij = cosine of x_i and y_j; 1 for identical words, 0 if either is out of vocabulary
    t_i  = the k largest s_ij of left word i, largest first; zeros if the right text has fewer words
    z_i  = tanh(W2 tanh(W1 t_i + b1) + b2)
    a_i  = exp(v·x_i) / sum_l exp(v·x_l)
    s    = sum_i a_i z_i

    The largest similarities replace DRMM's histogram; they have a gradient, so word vectors can be trained.

    Unlike the paper: with gate=right or both, a similarity is multiplied by the attention weight of its right word;
    with gate=none, the z_i are summed. The sizes are those of MatchZoo's implementation, not of the paper.

    Settings:
      k       number of similarities kept for each left word
      hidden  hidden units of the network that scores them
    """

    paper = "Yang et al., CCIR 2018"
    family = "interaction"
    inputs = WORDS
    bounded_score = True
    training_defaults = {"max_length": 200}  # it ranks documents
    paper_training = {"optimizer": "adam", "lr": 0.001}

    def __init__(  # type: ignore[misc]  # an embedding setting with a default of this model's own
        self,
        vocab: int,
        *,
        k: Size = 10,
        hidden: Size = 5,
        gate: Annotated[str, Gate] = "left",
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.k = k
        self.embed = WordEmbedding(vocab, gate=gate, **embedding)
        self.interact = WordCosine(vocab)
        self.feed_forward = Sequential(Linear(k, hidden), Tanh(), Linear(hidden, 1), Tanh())
        self.score = WeightedSum()

    def forward(self, left: Tokens, right: Tokens) -> Array:
        u, v, a, b = embed_with_attention(self.embed, left, right)
        t = self.row_topk(self.interact(u, v), b)  # [B, L, K]
        return self.score(a, self.feed_forward(t)[..., 0])

    def row_topk(self, s: Grid, b: Array) -> Array:
        """The k largest weighted similarities of every row: [B, L, K]."""
        xp = array_namespace(s.x)
        x = xp.where(s.mask, s.x[:, 0] * b[:, None], -float("inf"))  # [B, L, R]
        top = xp.topk(x, min(self.k, x.shape[-1]))
        return xp.pad(xp.where(top == -float("inf"), 0, top), [(0, self.k - top.shape[-1])])
