"""aNMM: what two words' likeness is worth depends on its value alone, and the question's words share the say."""

from typing import Annotated, Unpack

import torch
from torch import Tensor

from pairlight.layers.attention import embed_with_attention
from pairlight.layers.embedding import EmbeddingSettings, Gate, WordEmbedding
from pairlight.layers.histogram import BinWeights
from pairlight.layers.settings import Size
from pairlight.layers.types import Tokens
from pairlight.layers.word_cosine import WordCosine
from pairlight.models.base import PairModel
from pairlight.text.inputs import InputSpec


class ANMM(PairModel):
    """Weigh every likeness of two words by the bin its value falls in; let attention average over the left words.

    s_ij = cosine of x_i and y_j; 1 for the same word, 0 where one is unknown or has no vector
    x_ik = sum of the s_ij in bin k: equal bins from -1 up to 1, the last for the same word
    h_i  = sigmoid(w · x_i)
    a_i  = exp(v·x_i) / sum_l exp(v·x_l)
    s    = sum_i a_i h_i

    This is aNMM-1, after the authors' code and notes on the paper, whose 600 bins they both quote. The score lies
    between 0 and 1, so the hinge never ends: it asks for as much distance as there is.

    Unlike the paper: v and w start at 0, but for the weight of the same word, which starts at 1; the authors' code
    draws them from 0 to 1, which saturates the sigmoid where the right text is long. A word without a vector has 0 in
    the attention, where the authors draw one. AdaGrad, not plain descent. gate=none adds the h_i up, gate=right or both
    also weighs what each right word adds to its bin.

    Settings:
      bins  how many bins there are, that of the same word among them
    """

    paper = "Yang et al., CIKM 2016"
    family = "interaction"
    inputs = InputSpec(pretrained_vectors=True, random_oov=False)
    training_defaults = {"freeze": True}

    def __init__(  # type: ignore[misc]  # an embedding setting with a default of this model's own
        self,
        vocab: int,
        *,
        bins: Size = 600,
        gate: Annotated[str, Gate] = "left",
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, gate=gate, **embedding)
        self.interact = WordCosine(vocab)
        self.aggregate = BinWeights(bins)

    def init_weights(self, scale: float) -> None:
        super().init_weights(scale)
        with torch.no_grad():
            self.aggregate.w[-1] = 1

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        u, v, a, b = embed_with_attention(self.embed, left, right)
        h = self.aggregate(self.interact(u, v), b).sigmoid()  # [B, L]
        return (a * h).sum(1)
