"""A model with evidence: its score is added to that of static vectors and shared subwords."""

from typing import Any

import numpy as np

from pairlight.data.pairs import Pairs
from pairlight.data.statistics import document_frequency
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear
from pairlight.layers.evidence import SUBWORDS, Evidence
from pairlight.layers.layer import parameter
from pairlight.layers.stored import KMaxScorer, StoredScorer, SumScorer
from pairlight.layers.types import Array, EncodedText, Tokens
from pairlight.models.base import DualEncoder, PairModel
from pairlight.text.tokenizer import TokenizedTexts

GAIN = 10.0


class WithEvidence(PairModel):
    """Start as a scorer that ranks, and learn what the model adds to it.

    s = e + 10 a m, where e is the score of the evidence and m that of the model; a starts at 0

    The factor lets a small learning rate move a within a few steps.
    """

    reads_subwords = True

    def __init__(self, own: PairModel) -> None:
        self.own, self.evidence = own, Evidence()
        self.weight = parameter(1, bound=0)
        self.settings = own.settings | {"evidence": True}
        self.inputs, self.statistics_are_weights = own.inputs, own.statistics_are_weights  # type: ignore[misc]
        self.paper, self.family = own.paper, own.family  # type: ignore[misc]

    @staticmethod
    def of(own: PairModel) -> "WithEvidence":
        return DualWithEvidence(own) if isinstance(own, DualEncoder) else WithEvidence(own)

    def forward(self, left: Tokens, right: Tokens) -> Array:
        return self._sum(left.subwords, right.subwords, self.own(left, right))

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        self.own.fit_statistics(texts, pairs)
        self.fit_evidence_statistics(texts, pairs)

    def fit_evidence_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        subwords = texts.subwords
        if subwords is None:
            raise TypeError("The texts of a model with evidence are tokenized as subwords too.")
        numbers, rights = np.unique(np.concatenate([pairs.left, pairs.right])), np.unique(pairs.right)
        frequency = document_frequency(subwords, numbers, SUBWORDS)[:-1]
        self.evidence.set_frequencies(frequency, len(numbers), float(subwords.lengths[rights].mean()))

    def init_weights(self, scale: float) -> None:
        if array_namespace(self.weight).NAME == "torch":  # on NumPy nothing is trained: the model's part stays zero
            self.own.init_weights(scale)
        self.evidence.init_weights()

    def linear_layer(self) -> Linear:
        return self.evidence.linear

    def linear_features(self, left: Tokens, right: Tokens) -> Array:
        return self.evidence.pair_features(_subwords(left.subwords), _subwords(right.subwords))

    @property
    def without_evidence(self) -> PairModel:
        return self.own

    @property
    def word_vectors(self) -> Array | None:
        return self.own.word_vectors

    def _sum(self, left: Tokens | None, right: Tokens | None, own: Array) -> Array:
        return self.evidence(_subwords(left), _subwords(right)) + GAIN * self.weight * own


class DualWithEvidence(WithEvidence, DualEncoder[Any]):
    """A model that encodes each text on its own, with evidence: the encoding of a text includes its subwords."""

    own: DualEncoder[Any]

    def encode_left(self, tokens: Tokens) -> EncodedText:
        return EncodedText(self.own.encode_left(tokens), _subwords(tokens.subwords))

    def encode_right(self, tokens: Tokens) -> EncodedText:
        return EncodedText(self.own.encode_right(tokens), _subwords(tokens.subwords))

    def stored_scorer(self) -> StoredScorer | None:
        own, idf = self.own.stored_scorer(), self.evidence.idf
        if not isinstance(own, KMaxScorer) or not self.evidence.features.can_fuse(idf, self.evidence.embed):
            return None
        return SumScorer(own, self.evidence.stored_scorer(), GAIN * float(self.weight[0]))

    def match(self, u: EncodedText, v: EncodedText) -> Array:
        return self._sum(u.subwords, v.subwords, self.own.match(u.own, v.own))


def _subwords(tokens: Tokens | None) -> Tokens:
    if tokens is None:
        raise TypeError("A model with evidence reads texts as subwords too.")
    return tokens
