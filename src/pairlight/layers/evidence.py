"""Evidence: what static vectors and shared subwords say about a pair of texts before any training."""

from typing import Any

import numpy as np

from pairlight.kernels.native.pair_features import K1, B, WordTable
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear
from pairlight.layers.heads import kernel_head
from pairlight.layers.interactions import Cosine, unit
from pairlight.layers.layer import Layer, buffer
from pairlight.layers.stored import WordsScorer
from pairlight.layers.subwords import StaticEmbedding, static_units
from pairlight.layers.topk import KMax
from pairlight.layers.tracing import is_watched
from pairlight.layers.types import Array, Seq, Tokens, tile_left_vectors
from pairlight.text.subwords import document_frequency as general_frequency
from pairlight.text.tokenizer import PADDING

SUBWORDS = 32_000
PRIOR = 1000  # how many of the user's texts the general corpus is worth in document frequencies

# The features of a pair, and the weights with which they rank well untrained.
FEATURES: dict[str, float] = {
    "similarity of the texts": 4.0,
    "similarity, rare words count more": 0.0,
    "left words with a similar right word": 4.0,
    "right words with a similar left word": 2.0,
    "left words that occur on the right": 2.0,
    "right words that occur on the left": 0.0,
    "BM25": 0.0,
    "left length": 0.0,
    "right length": 0.0,
}


def subword_idf(frequency: Any, texts: int) -> np.ndarray:
    """`scaled_idf` with a general corpus as the prior of the counts."""
    general, size = general_frequency()
    return scaled_idf(frequency + general[: len(frequency)] * (PRIOR / size), texts + PRIOR)


def scaled_idf(frequency: Any, texts: int) -> np.ndarray:
    """ln(1 + N / (df + 0.5)), divided by the largest."""
    idf = np.log1p(texts / (frequency + 0.5))
    return np.asarray(idf / idf.max(), np.float32)


class PairFeatures(Layer):
    """How well two texts match, in nine numbers.   Seq, Seq, [B, L], [B, R] -> [B, 9 + k]

    s_ij = cosine of x_i and y_j;  r_i and q_j weight the positions of the left and of the right text
    f    = [cosine of sum_i x_i and sum_j y_j ; cosine of sum_i r_i x_i and sum_j q_j y_j ;
            sum_i r_i max_j s_ij / sum_i r_i ; sum_j q_j max_i s_ij / sum_j q_j ;
            sum_i r_i [i occurs on the right] / sum_i r_i ; sum_j q_j [j occurs on the left] / sum_j q_j ;
            sum_i r_i tf_i / (tf_i + k1 (1 - b + b R / average R)) / sum_i r_i, which is BM25 ;
            log(1 + L) ; log(1 + R) ; the k largest s_ij]
    """

    def __init__(self, k: int = 0) -> None:
        self.k = k
        self.interact, self.aggregate = Cosine(), KMax(k)
        self.average_length = buffer(fill=1.0)

    def forward(self, u: Seq, v: Seq, r: Array, q: Array) -> Array:
        xp = array_namespace(v.x)
        rows, columns, cells = self.maxima(u, v)
        in_right, in_left = xp.token_matches(u.ids, v.ids, u.lengths, v.lengths)
        in_right, in_left = xp.cast(in_right, v.x), xp.cast(in_left, v.x)
        similar = self.cosines(u, v, r, q)
        r, q = tile_left_vectors(r, q)
        left_total, right_total = r.sum(1), q.sum(1)
        lengths = [xp.cast(n, v.x) for n in tile_left_vectors(u.lengths, v.lengths)]
        saturation = K1 * (1 - B + B * lengths[1] / xp.cast(self.average_length, v.x))[:, None]
        f = [
            similar[:, 0],
            similar[:, 1],
            (r * rows).sum(1) / left_total,
            (q * columns).sum(1) / right_total,
            (r * xp.clip(in_right, high=1)).sum(1) / left_total,
            (q * xp.clip(in_left, high=1)).sum(1) / right_total,
            (r * in_right / (in_right + saturation)).sum(1) / left_total,
            *(xp.log(1 + n) for n in lengths),
        ]
        return xp.cat([*(each[:, None] for each in f), cells], 1)

    def of_tokens(self, words: WordTable, left: Tokens, right: Tokens) -> Array:
        """f of texts whose vectors and weights are rows of a table, in one pass, without gradients."""
        xp = array_namespace(left.ids)
        f: Array = xp.pair_features(
            words, left.ids, right.ids, left.lengths, right.lengths, float(self.average_length), self.k
        )
        return f

    def can_fuse(self, weights: Array, *layers: Layer) -> bool:
        """Whether `of_tokens` may replace this layer and those before it, with weights of this type."""
        xp = array_namespace(weights)
        if xp.grad_enabled() or not xp.has_kernels(weights):
            return False
        return not is_watched(self, self.interact, self.aggregate, *layers)

    def set_average_length(self, length: float) -> None:
        """Set the mean length of right texts, for BM25."""
        array_namespace(self.average_length).copy_into(self.average_length, np.float32(length))

    def maxima(self, u: Seq, v: Seq) -> tuple[Array, Array, Array]:
        """max_j s_ij, max_i s_ij and the k largest s_ij, the grid not being stored.   [B, L], [B, R], [B, k]"""
        xp = array_namespace(v.x)
        if is_watched(self.interact, self.aggregate):
            s = self.interact(u, v)
            x = xp.where(s.mask, s.x[:, 0], -2)
            left, right = xp.amax(x, 2), xp.amax(x, 1)
            cells = self.aggregate(s) if self.k else left[:, :0]
            return xp.where(left < -1.5, 0, left), xp.where(right < -1.5, 0, right), cells
        found = xp.product_max(unit(u.x), unit(v.x), u.lengths, v.lengths, self.k)
        return found.rows, found.columns, found.values

    def cosines(self, u: Seq, v: Seq, r: Array, q: Array) -> Array:
        """The cosine of sum_i x_i and sum_j y_j, and that of sum_i r_i x_i and sum_j q_j y_j.   -> [B, 2]"""
        a, b = tile_left_vectors(unit(_sums(u, r)), unit(_sums(v, q)))
        return (a * b).sum(-1)


class Evidence(Layer):
    """s = v·f + c with the features of `PairFeatures` on the subwords of both texts.   Tokens, Tokens -> [B]

    The vectors are static, and the weights of subwords are their idf in the training texts. v starts at a scorer that
    ranks well and is fitted to the training pairs before the model is trained.
    """

    def __init__(self) -> None:
        self.embed = StaticEmbedding()
        self.idf = buffer(SUBWORDS, fill=1.0)
        self.features = PairFeatures()
        self.linear = Linear(len(FEATURES), 1)

    def init_weights(self) -> None:
        """Set the weights of an untrained scorer, and the idf of a general corpus."""
        start_linear(self.linear)
        self.set_frequencies(np.zeros(SUBWORDS, np.int64), 0, 1.0)

    def set_frequencies(self, frequency: Any, texts: int, average_length: float) -> None:
        """Set the statistics: in how many of so many texts each subword occurs, and the mean length of right texts."""
        array_namespace(self.idf).copy_into(self.idf, subword_idf(frequency, texts))
        self.features.set_average_length(average_length)

    def pair_features(self, left: Tokens, right: Tokens) -> Array:
        """f: [B, 9]."""
        xp = array_namespace(self.idf)
        with xp.no_grad():  # nothing before the linear layer is trained
            if self.features.can_fuse(self.idf, self.embed):
                return self.features.of_tokens(WordTable(*static_units(left, right), self.idf), left, right)
            f: Array = self.features(self.embed(left), self.embed(right), self.weights(left), self.weights(right))
        return f

    def stored_scorer(self) -> WordsScorer:
        """Scores stored texts in one pass over them."""
        idf = array_namespace(self.idf).to_numpy(self.idf)
        return WordsScorer(
            lambda words: WordTable(*static_units(words), idf),
            float(self.features.average_length),
            self.features.k,
            kernel_head(self.linear, None),
        )

    def weights(self, tokens: Tokens) -> Array:
        """The idf of every subword, 0 under padding: [B, L]."""
        xp = array_namespace(tokens.ids)
        return xp.where(tokens.mask, self.idf[xp.where(tokens.mask, tokens.ids, PADDING)], 0)

    def forward(self, left: Tokens, right: Tokens) -> Array:
        f = self.pair_features(left, right)
        s: Array = self.linear(array_namespace(f).cast(f, self.linear.weight))[:, 0]
        return s


def _sums(u: Seq, weights: Array) -> Array:
    """sum_i x_i and sum_i r_i x_i: [B, 2, D]."""
    xp = array_namespace(u.x)
    both = xp.cat([xp.cast(u.mask, u.x)[:, None], xp.cast(weights, u.x)[:, None]], 1)  # [B, 2, L]
    s: Array = both @ xp.where(u.mask[..., None], u.x, 0)
    return s


def start_linear(linear: Linear) -> None:
    """Set the weights of an untrained scorer; features after the first nine get none."""
    weight = np.zeros(linear.weight.shape, np.float32)
    weight[0, : len(FEATURES)] = list(FEATURES.values())
    xp = array_namespace(linear.weight)
    xp.copy_into(linear.weight, weight)
    xp.copy_into(linear.bias, np.full(1, -weight.sum() / 2, np.float32))  # so that a middling pair has a score near 0
