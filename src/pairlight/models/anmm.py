"""aNMM: weights similarities by their value instead of their position, and left words by attention."""

from typing import Annotated, Unpack

from pairlight.layers.attention import embed_with_attention
from pairlight.layers.backends import array_namespace
from pairlight.layers.embedding import EmbeddingSettings, Gate, WordEmbedding
from pairlight.layers.heads import WeightedSum
from pairlight.layers.histogram import BinWeights
from pairlight.layers.settings import Size
from pairlight.layers.types import Array, Tokens
from pairlight.layers.word_cosine import WordCosine
from pairlight.models.base import PairModel
from pairlight.text.inputs import InputSpec


class ANMM(PairModel):
    """Weight every similarity by the bin of its value, and average over the left words by attention.

    s_ij = cosine of x_i and y_j; 1 for identical words, 0 if either is out of vocabulary or has no vector
    b_ik = sum of the s_ij in bin k: bins of equal width from -1 to 1, and the last bin for identical words
    h_i  = sigmoid(w · b_i)
    a_i  = exp(v·x_i) / sum_l exp(v·x_l)
    s    = sum_i a_i h_i

    This is aNMM-1, after the authors' code and notes on the paper, both of which give 600 bins. The score is between 0
    and 1, so the hinge loss never reaches zero and always asks for a larger difference.

    Unlike the paper: v and w are initialized to 0, except the weight of identical words, which is initialized to 1; the
    authors' code initializes them uniformly from 0 to 1, which saturates the sigmoid for long right texts. The word
    vectors in the attention have length 1, where the authors use them as they are; normalize=false is their form. A
    word without a vector has a zero vector in the attention if vectors are frozen, where the authors draw a random one.
    AdaGrad, not plain gradient descent. gate=none adds up the h_i; gate=right or both also weights the similarities by
    attention over right words.

    Settings:
      bins  number of bins, including that of identical words
    """

    paper = "Yang et al., CIKM 2016"
    family = "interaction"
    inputs = InputSpec(pretrained_vectors=True, random_oov=False)
    bounded_score = True
    training_defaults = {"max_length": 200}  # it ranks documents
    paper_training = {"freeze": True}

    def __init__(  # type: ignore[misc]  # declares an embedding setting to give it another default
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
        self.score = WeightedSum()

    def init_weights(self, scale: float) -> None:
        super().init_weights(scale)
        with array_namespace(self.aggregate.w).no_grad():
            self.aggregate.w[-1] = 1

    def forward(self, left: Tokens, right: Tokens) -> Array:
        u, v, a, b = embed_with_attention(self.embed, left, right)
        z = self.aggregate(self.interact(u, v), b)  # [B, L]
        return self.score(a, array_namespace(z).sigmoid(z))
