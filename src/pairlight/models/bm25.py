"""BM25: the standard lexical ranking function."""

import numpy as np

from pairlight.data.pairs import Pairs
from pairlight.data.statistics import bm25_idf, document_frequency
from pairlight.layers.bm25 import BM25Score
from pairlight.layers.settings import NonNegative
from pairlight.layers.types import Array, Tokens
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import TokenizedTexts


class BM25(PairModel):
    """Sum the idf of shared words, with diminishing returns for repeated ones.

    s      = sum over the words t of the left text of idf(t) tf / (tf + k1 (1 - b + b m / average m))
    tf     = number of times that t occurs in the right text,   m = length of the right text
    idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)), where df of the N right texts in training contain t

    The left text is the query, the right text the document. The idf is that of Lucene. Words that do not occur in
    training have df = 0.

    Settings:
      k1  term frequency saturation: the lower, the sooner repetitions stop counting
      b   length normalization: the higher, the less words count in long right texts
    """

    paper = "Robertson et al., TREC 1995"
    family = "lexical"
    takes_evidence = False
    training_defaults = {"max_length": 1000}  # it reads whole documents

    def __init__(self, vocab: int, *, k1: NonNegative = 1.2, b: NonNegative = 0.75) -> None:
        self.score = BM25Score(vocab, k1, b)

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        documents = np.unique(pairs.right)
        idf = bm25_idf(document_frequency(texts, documents, self.score.vocab), len(documents))
        self.score.load_state_dict({"idf": idf, "average_length": texts.lengths[documents].mean()})

    def lexical_layer(self) -> BM25Score:
        return self.score

    def forward(self, left: Tokens, right: Tokens) -> Array:
        return self.score(left, right)
