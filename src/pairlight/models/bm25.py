"""BM25: shared words count, rare ones more, repeated ones less and less."""

import numpy as np
import torch
from torch import Tensor

from pairlight.data.pairs import Pairs
from pairlight.data.statistics import document_frequency
from pairlight.layers.layer import buffer
from pairlight.layers.settings import NonNegative
from pairlight.layers.types import Tokens
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import TokenizedTexts


class BM25(PairModel):
    """The left text is the query, the right one the document; the statistics are those of the training texts.

    s      = sum over the words t of the left text of idf(t) tf / (tf + k1 (1 - b + b m / avg m))
    tf     = how often t stands in the right text, m = its length
    idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)), N right texts in training, df of them with t; Lucene's form

    A word that training never saw counts as one with df = 0.

    Settings:
      k1  how soon a repeated word stops counting
      b   how much a long right text is held against it
    """

    paper = "Robertson et al., TREC 1995"
    family = "lexical"

    def __init__(self, vocab: int, *, k1: NonNegative = 1.2, b: NonNegative = 0.75) -> None:
        self.vocab, self.k1, self.b = vocab, k1, b
        self.idf = buffer(vocab + 1)  # the last is that of a word never seen
        self.average = buffer(fill=1.0)

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        documents = np.unique(pairs.right)
        df = document_frequency(texts, documents, self.vocab)
        self.idf = torch.from_numpy(np.log1p((len(documents) - df + 0.5) / (df + 0.5))).float()
        self.average = torch.tensor(float(texts.lengths[documents].mean()))

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        times = len(right.ids) // len(left.ids)
        words, there = left.ids.repeat(times, 1), left.mask.repeat(times, 1)  # [B, L]
        same = (words[:, :, None] == right.ids[:, None, :]) & right.mask[:, None, :]  # [B, L, R]
        tf = same.sum(2).to(self.idf.dtype)  # [B, L]
        slack = self.k1 * (1 - self.b + self.b * right.lengths.to(tf) / self.average)  # [B]
        gain = self.idf[words.clamp(max=self.vocab)] * tf / (tf + slack[:, None])
        return gain.masked_fill(~there, 0).sum(1)
