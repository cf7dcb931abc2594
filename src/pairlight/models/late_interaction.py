"""Late interaction: compares all subwords of two texts by static sentence-level vectors; it ranks well untrained."""

import numpy as np

from pairlight.data.pairs import Pairs
from pairlight.data.statistics import document_frequency
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear
from pairlight.layers.heads import MLP
from pairlight.layers.interactions import Cosine, Indicator
from pairlight.layers.layer import parameter
from pairlight.layers.overlap import Coverage, MeanCosine
from pairlight.layers.settings import Fraction, Size
from pairlight.layers.subwords import DIM, StaticEmbedding, SubwordWeights
from pairlight.layers.topk import KMax
from pairlight.layers.types import Array, Seq, Tokens, tile_left_vectors
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import InputSpec
from pairlight.text.subwords import document_frequency as general_frequency
from pairlight.text.tokenizer import TokenizedTexts

# How many texts of the general corpus the prior of the document frequencies is worth.
PRIOR = 1000


class LateInteraction(DualEncoder[Seq]):
    """Compare every subword of one text with every subword of the other.

    x_t  = P E[w_t], static vectors E trained for sentences; P starts as the identity
    s_ij = cosine of x_i and y_j
    r_t  = |ρ[w_t]|, how much a subword counts; starts as its idf
    f    = [cosine of sum x and sum y ; sum_i r_i max_j s_ij / sum_i r_i ; the same for the columns ;
            both again with s_ij = 1 for the same subword, else 0 ; log lengths ; the k largest s_ij]
    s    = v·f + w·relu(W f + b), with v starting at a scorer that ranks well and w at zero

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
    training_defaults = {
        "loss": "listwise",
        "softmax_scale": 4.0,
        "optimizer": "adam",
        "lr": 0.001,
        "epochs": 12,
        "patience": 4,
        "negatives_per_positive": 8,
        "max_length": 64,
    }

    def __init__(self, vocab: int, *, k: Size = 10, hidden: Size = 32, dropout: Fraction = 0.2) -> None:
        self.embed = StaticEmbedding(dropout)
        self.project = parameter(DIM, DIM, bound=0)
        self.weights = SubwordWeights(vocab)
        self.interact, self.same = Cosine(), Indicator()
        self.mean_cosine, self.coverage, self.aggregate = MeanCosine(), Coverage(), KMax(k)
        self.linear, self.score = Linear(7 + k, 1, bias=False), MLP(7 + k, hidden)

    def init_weights(self, scale: float) -> None:
        import torch

        with torch.no_grad():
            self.project.copy_(torch.eye(DIM))
            self.linear.weight.zero_()
            self.linear.weight[0, :4] = torch.tensor([1.0, 1.0, 0.5, 0.5])
            for array in self.score.out.parameters():
                array.zero_()
        self.set_frequencies(np.zeros(len(self.weights.weight), np.int64), 0)

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        numbers = np.unique(np.concatenate([pairs.left, pairs.right]))
        self.set_frequencies(document_frequency(texts, numbers, len(self.weights.weight))[:-1], len(numbers))

    def set_frequencies(self, frequency: np.ndarray, texts: int) -> None:
        """Start the weights of subwords at their idf in so many texts, with a general corpus as the prior."""
        general, size = general_frequency()
        total, frequency = texts + PRIOR, frequency + general[: len(frequency)] * (PRIOR / size)
        idf = np.log1p(total / (frequency + 0.5))
        self.weights.set((idf / idf.max()).astype(np.float32))

    def encode_left(self, tokens: Tokens) -> Seq:
        u: Seq = self.embed(tokens)
        return u.with_x(array_namespace(u.x).cast(u.x, self.project) @ self.project)

    encode_right = encode_left

    def match(self, u: Seq, v: Seq) -> Array:
        xp = array_namespace(v.x)
        a, b = tile_left_vectors(self.weights(u), self.weights(v))
        lengths = xp.cat(tile_left_vectors(u.lengths[:, None], v.lengths[:, None]), 1)  # [B, 2]
        s = self.interact(u, v)
        f = xp.cat(
            [
                self.mean_cosine(u, v),
                self.coverage(s, a, b),
                self.coverage(self.same(u, v), a, b),
                xp.log(1 + xp.cast(lengths, v.x)),
                self.aggregate(s),
            ],
            1,
        )  # [B, 7 + k]
        return self.linear(f)[:, 0] + self.score(f)
