"""DRMM: a small network scores the histogram of similarities of each left word; rare words count more."""

from typing import Annotated, Literal, Unpack

import numpy as np

from pairlight.data.pairs import Pairs
from pairlight.data.statistics import document_frequency, drmm_idf
from pairlight.layers.attention import embed_with_attention
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear, Sequential, Tanh
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.heads import WeightedSum
from pairlight.layers.histogram import Histogram
from pairlight.layers.idf import IdfGate
from pairlight.layers.settings import Size
from pairlight.layers.types import Array, Tokens, tile_left_vectors
from pairlight.layers.word_cosine import WordCosine
from pairlight.models.base import PairModel
from pairlight.text.inputs import InputSpec
from pairlight.text.tokenizer import TokenizedTexts

Counts = Literal["count", "share", "log"]


class DRMM(PairModel):
    """Score the histogram of similarities of each left word, and weight the words by their idf.

    s_ij = cosine of x_i and y_j; 1 for identical words, 0 if either is out of vocabulary or has no vector
    h_ik = number of s_ij in bin k: bins of equal width from -1 to 1, the last for identical words; by default its
           log10(1 + h)
    z_i  = tanh(W2 tanh(W1 h_i + b1) + b2)
    g_i  = exp(w idf_i) / sum_l exp(w idf_l),   idf = ln((N + 1) / df) over the N right texts in training
    s    = sum_i g_i z_i

    Sizes and the idf formula are those of the authors' code. The loss is the paper's: hinge with margin 1. The paper's
    gate on word vectors is idf=false gate=left; with idf=true, attention weights are multiplied by g_i. With
    gate=right, a right word counts with its attention weight in the histogram. Histograms have no gradient, so word
    vectors are not trained.

    Unlike the paper: biases and w start at 0, where the authors' code draws biases within ±1 and w within ±0.01; the
    margin of that code is 0.1; words that do not occur in training have df = 1; similarities are not divided by the
    largest one of a left word.

    Settings:
      bins    number of bins, including that of identical words
      counts  value of a bin: count, share (of the sum over all bins) or log
      hidden  hidden units of the network that scores a histogram
      idf     weight left words by their idf
    """

    paper = "Guo et al., CIKM 2016"
    family = "interaction"
    inputs = InputSpec(pretrained_vectors=True, random_oov=False)
    bounded_score = True
    # At the default lr of 0.03 so few weights learn too slowly.
    training_defaults = {"max_length": 200}  # it ranks documents
    paper_training = {"freeze": True, "margin": 1.0, "lr": 0.3, "epsilon": 1e-10}

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
        self.idf_gate = IdfGate(vocab) if idf else None
        self.embed = WordEmbedding(vocab, **embedding)
        self.interact = WordCosine(vocab)
        self.aggregate = Histogram(bins)
        self.feed_forward = Sequential(Linear(bins, hidden), Tanh(), Linear(hidden, 1), Tanh())
        self.score = WeightedSum()

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        if self.idf_gate is not None:
            documents = np.unique(pairs.right)
            self.idf_gate.set_idf(drmm_idf(document_frequency(texts, documents, self.vocab), len(documents)))

    def forward(self, left: Tokens, right: Tokens) -> Array:
        u, v, a, b = embed_with_attention(self.embed, left, right)
        h = self.aggregate(self.interact(u, v), b)  # [B, L, K]
        xp = array_namespace(h)
        if self.counts == "share":
            h = h / xp.clip(h.sum(-1)[..., None], 1e-8)
        elif self.counts == "log":
            h = xp.log10(1 + h)
        z = self.feed_forward(h)[..., 0]  # [B, L]
        if self.idf_gate is not None:
            g, a = tile_left_vectors(self.idf_gate(left), a)
            a = a * g
        return self.score(a, z)
