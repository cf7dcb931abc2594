"""Late interaction: compares all subwords of two texts by static sentence-level vectors; it ranks well untrained."""

import numpy as np

from pairlight.data.pairs import Pairs
from pairlight.data.statistics import document_frequency
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear
from pairlight.layers.evidence import FEATURES, PairFeatures, start_linear, subword_idf
from pairlight.layers.heads import MLP
from pairlight.layers.layer import parameter
from pairlight.layers.settings import Fraction, Size
from pairlight.layers.subwords import DIM, StaticEmbedding, SubwordWeights
from pairlight.layers.types import Array, Seq, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import InputSpec
from pairlight.text.tokenizer import TokenizedTexts


class LateInteraction(DualEncoder[Seq]):
    """Compare every subword of one text with every subword of the other.

    x_t  = P E[w_t], static vectors E trained for sentences; P starts as the identity
    r_t  = |ρ[w_t]|, how much a subword counts; starts as its idf
    f    = the features of `PairFeatures`: similarity of the texts, words with a similar or the same word on the other
           side weighted by r, BM25, lengths, and the k largest cosines of two subwords
    s    = v·f + c + w·relu(W f + b), with v starting at a scorer that ranks well and w at zero

    v is fitted to the training pairs first, then everything but E is trained.

    This model is ours: the idea of late interaction is that of ColBERT (Khattab and Zaharia, SIGIR 2020), on static
    vectors in place of a transformer. The vectors E come from the package wordllama and are not trained.

    Settings:
      k        number of largest similarities that enter the score
      hidden   hidden units of the network that corrects the linear score
      dropout  share of each vector's entries set to zero in training
    """

    paper = "pairlight, after Khattab and Zaharia, SIGIR 2020"
    family = "interaction"
    inputs = InputSpec(input_kind="subwords")
    takes_evidence = False  # it is made of the same features
    statistics_are_weights = True  # the idf is where the weights of subwords start
    training_defaults = {"max_length": 64}

    def __init__(self, vocab: int, *, k: Size = 10, hidden: Size = 32, dropout: Fraction = 0.2) -> None:
        self.embed = StaticEmbedding(dropout)
        self.project = parameter(DIM, DIM, bound=0)
        self.weights = SubwordWeights(vocab)
        self.features = PairFeatures(k)
        self.linear, self.score = Linear(len(FEATURES) + k, 1), MLP(len(FEATURES) + k, hidden)

    def init_weights(self, scale: float) -> None:
        import torch

        with torch.no_grad():
            self.project.copy_(torch.eye(DIM))
            for array in self.score.out.parameters():
                array.zero_()
        start_linear(self.linear)
        self.weights.set(subword_idf(np.zeros(len(self.weights.weight), np.int64), 0))

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        numbers, rights = np.unique(np.concatenate([pairs.left, pairs.right])), np.unique(pairs.right)
        frequency = document_frequency(texts, numbers, len(self.weights.weight))[:-1]
        self.weights.set(subword_idf(frequency, len(numbers)))
        self.features.set_average_length(float(texts.lengths[rights].mean()))

    def encode_left(self, tokens: Tokens) -> Seq:
        u: Seq = self.embed(tokens)
        return u.with_x(array_namespace(u.x).cast(u.x, self.project) @ self.project)

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
