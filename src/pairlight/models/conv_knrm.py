"""Conv-KNRM: K-NRM on word n-grams of several lengths."""

from typing import Unpack

from pairlight.layers.attention import embed_with_attention
from pairlight.layers.basic import Linear, Sequential, Tanh
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.kernel_pooling import KernelPooling, fused_kernel_pooling
from pairlight.layers.ngrams import NgramConv, NgramCosine, fused_ngrams
from pairlight.layers.settings import Depth, Size
from pairlight.layers.types import Array, Tokens
from pairlight.models.base import PairModel
from pairlight.text.inputs import WORDS


class ConvKNRM(PairModel):
    """Encode n-grams of one, two and three words, compare n-grams of all lengths, and count similarities by kernels.

    g_i^n   = relu(W^n [x_i ; ... ; x_i+n-1] + b^n),   n = 1, 2, 3
    s_ij^ab = cosine of g_i^a of the left text and g_j^b of the right text
    φ_k^ab  = sum_i log sum_j exp(-(s_ij^ab - μ_k)² / 2σ_k²)
    s       = tanh(w · φ + c)

    The kernels are those of K-NRM, with the two constants of its authors' code. The relu of g and Adam at 0.001 agree
    with a public port of the model.

    Unlike the paper: n-grams that extend over the end of a text are filled up with zero vectors, so that a one-word
    text has one n-gram of each length; word vectors have 50 dimensions unless dim is set, not 300; batches have 128
    pairs, not 16; the weights for another domain are not learned separately. A gate, if used, weights an n-gram by its
    first word, as in K-NRM.

    Settings:
      filters  size of an n-gram vector
      grams    words in the longest n-grams
      kernels  number of kernels, including that of identical n-grams
    """

    paper = "Dai et al., WSDM 2018"
    family = "interaction"
    inputs = WORDS
    bounded_score = True
    training_defaults = {"max_length": 200}  # it ranks documents
    paper_training = {"optimizer": "adam", "lr": 0.001}

    def __init__(
        self,
        vocab: int,
        *,
        filters: Size = 128,
        grams: Depth = 3,
        kernels: Size = 11,
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        self.encode = NgramConv(self.embed.dim, filters, grams)
        self.interact = NgramCosine(grams)
        self.aggregate = KernelPooling(kernels)
        self.score = Sequential(Linear(grams**2 * kernels, 1), Tanh())

    def forward(self, left: Tokens, right: Tokens) -> Array:
        u, v, a, b = embed_with_attention(self.embed, left, right)
        embedding = self.embed.embedding
        u, v = fused_ngrams(embedding, self.encode, left, u), fused_ngrams(embedding, self.encode, right, v)
        return self.score(fused_kernel_pooling(self.interact, self.aggregate, u, v, a, b))[:, 0]
