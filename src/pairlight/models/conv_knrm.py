"""Conv-KNRM: K-NRM where phrases meet as words do."""

from typing import Unpack

from torch import Tensor

from pairlight.layers.attention import embed_with_attention
from pairlight.layers.basic import Linear, Sequential, Tanh
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.kernel_pooling import KernelPooling
from pairlight.layers.ngrams import GramCosine, Grams
from pairlight.layers.settings import Size
from pairlight.layers.types import Tokens
from pairlight.models.base import PairModel
from pairlight.text.inputs import WORDS


class ConvKNRM(PairModel):
    """Make vectors of all phrases of one, two and three words, match all lengths with all, count by kernels.

    g_i^h  = relu(W^h [x_i ; ... ; x_i+h-1] + b^h),   h = 1, 2, 3
    s_ij^ab = cosine of g_i^a of the left text and g_j^b of the right text
    φ_k^ab = sum_i log sum_j exp(-(s_ij^ab - μ_k)² / 2σ_k²)
    s      = tanh(w · φ + c)

    The kernels are K-NRM's, its authors' two constants too. That g has a relu, and how it is trained, is recalled
    and not checked.

    Unlike the paper: the last words begin phrases too, filled up with zero vectors, so that a one-word text has one of
    each length. A gate, where asked for, weighs a phrase by its first word, as in K-NRM.

    Settings:
      filters  size of a phrase's vector
      grams    how many words the longest phrase has
      kernels  how many kernels there are, that of identical phrases among them
    """

    paper = "Dai et al., WSDM 2018"
    family = "interaction"
    inputs = WORDS
    training_defaults = {"optimizer": "adam", "lr": 0.001}

    def __init__(
        self,
        vocab: int,
        *,
        filters: Size = 128,
        grams: Size = 3,
        kernels: Size = 11,
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        self.encode = Grams(self.embed.dim, filters, grams)
        self.interact = GramCosine(grams)
        self.aggregate = KernelPooling(kernels)
        self.score = Sequential(Linear(grams**2 * kernels, 1), Tanh())

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        u, v, a, b = embed_with_attention(self.embed, left, right)
        return self.score(self.aggregate(self.interact(self.encode(u), self.encode(v)), a, b))[:, 0]
