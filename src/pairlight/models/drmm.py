"""DRMM: a histogram of its likenesses says how well each query word is met."""

from typing import Annotated, Literal, Unpack

import numpy as np
import torch
from torch import Tensor

from pairlight.data.pairs import Pairs
from pairlight.data.statistics import document_frequency
from pairlight.layers.attention import embed_with_attention
from pairlight.layers.basic import Linear, Sequential, Tanh
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.histogram import Histogram
from pairlight.layers.layer import buffer, parameter
from pairlight.layers.settings import Size
from pairlight.layers.types import Tokens
from pairlight.layers.word_cosine import WordCosine
from pairlight.models.base import PairModel
from pairlight.text.inputs import InputSpec
from pairlight.text.tokenizer import TokenizedTexts

Counts = Literal["count", "share", "log"]


class DRMM(PairModel):
    """Turn each left word's likenesses into a histogram, score it, and let rare words have the larger say.

    s_ij = cosine of x_i and y_j; 1 for the same word, 0 where one is unknown or has no vector
    h_ik = how many s_ij lie in bin k: equal bins from -1 up to 1, the last for the same word; by default log10(1 + h)
    z_i  = tanh(W2 tanh(W1 h_i + b1) + b2)
    g_i  = exp(w idf_i) / sum_l exp(w idf_l),   idf = ln((N + 1) / df) over the N right texts of training
    s    = sum_i g_i z_i

    Sizes, start values and the formula of idf are those of the authors' code. The paper's gate by word vectors is
    idf=false gate=left; with idf=true, a gate's share multiplies g_i. gate=right counts each right word by its share.
    Counts teach the word vectors nothing: they stay as they start.

    Unlike the paper: all vectors of weights start at 0, and a word that training never saw counts as one of df = 1.

    Settings:
      bins    how many bins there are, that of the same word among them
      counts  what stands in a bin: count, share (of all that were counted) or log
      hidden  size of the hidden layer that reads a histogram
      idf     let rare words have the larger say
    """

    paper = "Guo et al., CIKM 2016"
    family = "interaction"
    inputs = InputSpec(pretrained_vectors=True, random_oov=False)
    training_defaults = {
        "freeze": True,
        "lr": 0.3,
        "epsilon": 1e-10,
    }  # so few weights learn too slowly at the house's 0.03

    idf: Tensor

    def __init__(
        self,
        vocab: int,
        *,
        bins: Size = 30,
        counts: Annotated[str, Counts] = "log",
        hidden: Size = 5,
        idf: bool = True,
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.vocab, self.counts = vocab, counts
        self.embed = WordEmbedding(vocab, **embedding)
        self.interact = WordCosine(vocab)
        self.aggregate = Histogram(bins)
        self.score = Sequential(Linear(bins, hidden), Tanh(), Linear(hidden, 1), Tanh())
        self.rare = parameter(1, bound=0) if idf else None
        self.idf = buffer(vocab + 1)  # the last is that of a word never seen

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        documents = np.unique(pairs.right)
        df = document_frequency(texts, documents, self.vocab)
        self.idf = torch.from_numpy(np.log((len(documents) + 1) / np.maximum(df, 1))).to(self.idf)

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        u, v, a, b = embed_with_attention(self.embed, left, right)
        h = self.aggregate(self.interact(u, v), b)  # [B, L, K]
        if self.counts == "share":
            h = h / h.sum(-1, keepdim=True).clamp(min=1e-8)
        elif self.counts == "log":
            h = torch.log10(1 + h)
        z = self.score(h)[..., 0]  # [B, L]
        if self.rare is not None:
            idf = self.idf[left.ids.clamp(max=self.vocab)]
            g = (self.rare * idf).masked_fill(~left.mask, -torch.inf).softmax(1)
            a = a * g.repeat(len(a) // len(g), 1)
        return (a * z).sum(1)
