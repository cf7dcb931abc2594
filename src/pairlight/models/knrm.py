"""K-NRM: counts similarities with soft kernels, which also train the word vectors."""

from typing import Unpack

from pairlight.layers.attention import embed_with_attention
from pairlight.layers.basic import Linear, Sequential, Tanh
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.kernel_pooling import KernelPooling
from pairlight.layers.settings import Size
from pairlight.layers.types import Array, Tokens
from pairlight.layers.word_cosine import WordCosine
from pairlight.models.base import PairModel
from pairlight.text.inputs import WORDS


class KNRM(PairModel):
    """Count the similarities of all pairs of words with soft kernels, and train the word vectors through the kernels.

    s_ij = cosine of x_i and y_j; 1 for identical words, 0 if either is out of vocabulary
    φ_k  = sum_i log sum_j exp(-(s_ij - μ_k)² / 2σ_k²)
    s    = tanh(w · φ + c)

    μ = 1, σ = 0.001 for identical words; μ = 0.9, 0.7, ... -0.9, σ = 0.1 for the other kernels. As in the authors'
    code, the logarithm is multiplied by 0.01 and the sum of a kernel is at least 10⁻¹⁰.

    Unlike the paper: a gate, if used, weights the logarithms of left words and the kernels of right words; the authors'
    code leaves out-of-vocabulary words out, here identical ones match like all words.

    Settings:
      kernels  number of kernels, including that of identical words
    """

    paper = "Xiong et al., SIGIR 2017"
    family = "interaction"
    inputs = WORDS
    bounded_score = True
    training_defaults = {"max_length": 200, "freeze": False}  # it ranks documents; kernels train the word vectors
    paper_training = {"optimizer": "adam", "lr": 0.001}

    def __init__(self, vocab: int, *, kernels: Size = 11, **embedding: Unpack[EmbeddingSettings]) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        self.interact = WordCosine(vocab)
        self.aggregate = KernelPooling(kernels)
        self.score = Sequential(Linear(kernels, 1), Tanh())

    def forward(self, left: Tokens, right: Tokens) -> Array:
        u, v, a, b = embed_with_attention(self.embed, left, right)
        return self.score(self.aggregate(self.interact(u, v), a, b))[:, 0]
