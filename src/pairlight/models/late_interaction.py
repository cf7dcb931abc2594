"""Late interaction: compares all subwords of two texts by static sentence-level vectors; it ranks well untrained."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pairlight.data.pairs import Pairs
from pairlight.data.statistics import document_frequency
from pairlight.layers.basic import Linear
from pairlight.layers.evidence import FEATURES, PairFeatures, start_linear, subword_idf
from pairlight.layers.heads import MLP
from pairlight.layers.settings import Fraction, Size
from pairlight.layers.subwords import ProjectedEmbedding, SubwordWeights
from pairlight.layers.types import Array, Seq, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import InputSpec
from pairlight.text.tokenizer import TokenizedTexts


class LateInteraction(DualEncoder[Seq]):
    """Compare every subword of one text with every subword of the other.

    x_t  = P (E + D)[w_t], static vectors E trained for sentences; P starts as the identity and D at zero
    r_t  = |ρ[w_t]|, how much a subword counts; starts as its idf
    f    = the features of `PairFeatures`: similarity of the texts, words with a similar or the same word on the other
           side weighted by r, BM25, lengths, and the k largest cosines of two subwords
    s    = v·f + c + w·relu(W f + b), with v starting at a scorer that ranks well and w at zero

    v is fitted to the training pairs first, then all but E is trained, D at a tenth of the learning rate and only for
    subwords of the training texts. With freeze=true, D stays zero.

    This model is ours: the idea of late interaction is that of ColBERT (Khattab and Zaharia, SIGIR 2020), on static
    vectors in place of a transformer. The vectors E come from the package wordllama.

    Settings:
      k        number of largest similarities that enter the score
      hidden   hidden units of the network that corrects the linear score
      dropout  share of the entries of each subword's vector set to zero in a training step
    """

    paper = "pairlight, after Khattab and Zaharia, SIGIR 2020"
    family = "interaction"
    inputs = InputSpec(input_kind="subwords")
    takes_evidence = False  # it is made of the same features
    encodes_by_lookup = True
    statistics_are_weights = True  # the idf is where the weights of subwords start
    training_defaults = {"max_length": 64, "freeze": False}

    def __init__(self, vocab: int, *, k: Size = 10, hidden: Size = 32, dropout: Fraction = 0.2) -> None:
        self.embed = ProjectedEmbedding(dropout)
        self.weights = SubwordWeights(vocab)
        self.features = PairFeatures(k)
        self.linear, self.score = Linear(len(FEATURES) + k, 1), MLP(len(FEATURES) + k, hidden)

    def init_weights(self, scale: float) -> None:
        import torch

        self.embed.adjust_start()
        with torch.no_grad():
            for array in self.score.out.parameters():
                array.zero_()
        start_linear(self.linear)
        self.weights.set(subword_idf(np.zeros(len(self.weights.weight), np.int64), 0))

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        numbers, rights = np.unique(np.concatenate([pairs.left, pairs.right])), np.unique(pairs.right)
        frequency = document_frequency(texts, numbers, len(self.weights.weight))[:-1]
        self.weights.set(subword_idf(frequency, len(numbers)))
        self.features.set_average_length(float(texts.lengths[rights].mean()))

    def tune_vectors(self, texts: TokenizedTexts) -> None:
        self.embed.tune(np.unique(texts.ids))

    def prepare_state(self, state: Mapping[str, Any]) -> None:
        if "embed.rows" in state:
            self.embed.tune(np.asarray(state["embed.rows"]))

    def slow_parameters(self) -> list[Any]:
        return [] if self.embed.change is None else [self.embed.change]

    def encode_left(self, tokens: Tokens) -> Seq:
        return self.embed(tokens)

    encode_right = encode_left

    def match(self, u: Seq, v: Seq) -> Array:
        f = self.features(u, v, self.weights(u), self.weights(v))
        return self.linear(f)[:, 0] + self.score(f)

    def linear_layer(self) -> Linear:
        return self.linear

    def linear_features(self, left: Tokens, right: Tokens) -> Array:
        u, v = self.encode_left(left), self.encode_right(right)
        f: Array = self.features(u, v, self.weights(u), self.weights(v))
        return f
