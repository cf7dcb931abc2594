"""K-NRM: count likenesses of words in bins with soft edges, and learn word vectors for which the counts tell."""

from typing import Unpack

from torch import Tensor

from pairlight.layers.attention import embed_with_attention
from pairlight.layers.basic import Linear, Sequential, Tanh
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.kernel_pooling import KernelPooling
from pairlight.layers.settings import Size
from pairlight.layers.types import Tokens
from pairlight.layers.word_cosine import WordCosine
from pairlight.models.base import PairModel
from pairlight.text.inputs import WORDS


class KNRM(PairModel):
    """Count how alike the words of two texts are by kernels, and let the kernels teach the word vectors.

    s_ij = cosine of x_i and y_j; 1 for the same word, 0 where one is unknown
    φ_k  = sum_i log sum_j exp(-(s_ij - μ_k)² / 2σ_k²)
    s    = tanh(w · φ + c)

    μ = 1, σ = 0.001 for the same word; μ = 0.9, 0.7, ... -0.9, σ = 0.1 for the rest. As in the authors' code the
    logarithm is taken times 0.01 and a kernel's sum counts as 10⁻¹⁰ at least.

    Unlike the paper: a gate, where asked for, weighs the left words' logarithms and the right words' kernels; the
    authors' code leaves unknown words out, here they meet their like as all words do.

    Settings:
      kernels  how many kernels there are, that of the same word among them
    """

    paper = "Xiong et al., SIGIR 2017"
    family = "interaction"
    inputs = WORDS
    training_defaults = {"optimizer": "adam", "lr": 0.001}

    def __init__(self, vocab: int, *, kernels: Size = 11, **embedding: Unpack[EmbeddingSettings]) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        self.interact = WordCosine(vocab)
        self.aggregate = KernelPooling(kernels)
        self.score = Sequential(Linear(kernels, 1), Tanh())

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        u, v, a, b = embed_with_attention(self.embed, left, right)
        return self.score(self.aggregate(self.interact(u, v), a, b))[:, 0]
