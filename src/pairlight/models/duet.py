"""DUET: the sum of a network on exact matches and a network on character n-grams, trained together."""

from pairlight.core.errors import InputError
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Dropout, Linear, Sequential, Tanh
from pairlight.layers.char_ngrams import CharNgramEmbedding, init_glorot_uniform
from pairlight.layers.interactions import Indicator
from pairlight.layers.layer import Layer, parameter
from pairlight.layers.settings import Fraction, Size
from pairlight.layers.types import Array, Grid, Seq, Tokens, tile_left_vectors
from pairlight.layers.window_max import sum_windows
from pairlight.models.base import PairModel
from pairlight.text.inputs import InputSpec


class Duet(PairModel):
    """Add the scores of a local network on exact matches and a distributed network on character n-grams.

    Both texts are truncated or filled up with empty words to fixed lengths n and m.
    X_ij = 1 if words i and j are identical, else 0
    f_t  = number of times that each of the 2,000 most frequent character n-grams (n = 1 .. 5) occurs in word t

    r_i = tanh(A X_i + a), where X_i is the row of left word i
    q   = tanh(Q max of tanh(B [f_t ; f_t+1 ; f_t+2] + b) over all windows of the left text + k)
    d_t = tanh(D max of tanh(C [f_t ; f_t+1 ; f_t+2] + c) over `pool` windows of the right text from t on + l)
    s   = head([r_1 ; .. ; r_n]) + head([q * d_1 ; q * d_2 ; ..])

    A head is tanh(w · tanh(W tanh(V z + u) + v) + o); the two heads have separate weights. Weights are initialized with
    Glorot's bound and trained with a softmax over one positive and J negatives.

    Unlike the paper: the sizes are for short texts (the paper has n = 10, m = 1000, hidden = 300 and pool = 100), and
    the optimizer is Adam with weight decay, not plain gradient descent. The layers are those of the authors' code, but
    their text reader misses the n-grams at the end of a word. A punctuation mark is a word and takes up one of the n or
    m places, where the authors' reader removes it.

    Settings:
      left_length   number of words to which left texts are truncated or filled up
      right_length  number of words to which right texts are truncated or filled up
      hidden        units of every layer
      pool          windows of the right text that are max-pooled together
      dropout       dropout probability of the last hidden layer of each head
    """

    paper = "Mitra et al., WWW 2017"
    family = "interaction"
    inputs = InputSpec(input_kind="ngraphs", max_vocab=2000, max_lengths=("left_length", "right_length"))
    bounded_score = True
    paper_training = {
        "loss": "listwise",
        "softmax_scale": 1.0,
        "optimizer": "adam",
        "lr": 0.001,
        "weight_decay": 0.0001,
    }

    def __init__(
        self,
        vocab: int,
        *,
        left_length: Size = 20,
        right_length: Size = 50,
        hidden: Size = 50,
        pool: Size = 10,
        dropout: Fraction = 0.2,
    ) -> None:
        if left_length < 3:
            raise InputError(f"left_length={left_length} is too small: a window has 3 words, so use at least 3.")
        if right_length < pool + 2:
            raise InputError(
                f"right_length={right_length} is too small for pool={pool}: use at least {pool + 2}, or a smaller pool."
            )
        self.left_length, self.right_length, self.pool = left_length, right_length, pool
        self.interact = Indicator()
        self.rows = Linear(right_length, hidden)
        self.embed_left, self.left_bias = CharNgramEmbedding(vocab, hidden, window=3), parameter(hidden, bound=0)
        self.embed_right, self.right_bias = CharNgramEmbedding(vocab, hidden, window=3), parameter(hidden, bound=0)
        self.left_out, self.right_out = Linear(hidden, hidden), Linear(hidden, hidden)
        self.local_head = _head(left_length * hidden, hidden, dropout)
        self.distributed_head = _head((right_length - 1 - pool) * hidden, hidden, dropout)

    def init_weights(self, scale: float) -> None:
        super().init_weights(scale)
        init_glorot_uniform(self)

    def forward(self, left: Tokens, right: Tokens) -> Array:
        (u,), (v,) = self.embed_left(left), self.embed_right(right)
        return self.local(self.interact(u, v)) + self.distributed(u, v)

    def local(self, s: Grid) -> Array:
        *_, L, R = s.x.shape
        xp = array_namespace(s.x)
        # [B, n, m]; negative sizes truncate
        x = xp.pad(s.x[:, 0], [(0, self.left_length - L), (0, self.right_length - R)])
        return self.local_head(xp.tanh(self.rows(x)).reshape(len(x), -1))[:, 0]

    def distributed(self, u: Seq, v: Seq) -> Array:
        xp = array_namespace(u.x)
        # tanh is monotonic, so it follows the max pooling, where fewer values are left.
        h = sum_windows(_with_length(u, self.left_length)) + self.left_bias
        q = xp.tanh(self.left_out(xp.tanh(xp.amax(h, 1))))  # [B, hidden]
        h = sum_windows(_with_length(v, self.right_length)) + self.right_bias
        largest = xp.transpose(xp.max_pool1d(xp.transpose(h, 1, 2), self.pool), 1, 2)
        d = xp.tanh(self.right_out(xp.tanh(largest)))  # [B, m - 1 - pool, hidden]
        q, d = tile_left_vectors(q, d)
        return self.distributed_head((q[:, None] * d).reshape(len(d), -1))[:, 0]


def _with_length(u: Seq, length: int) -> Array:
    x: Array = array_namespace(u.x).pad(u.x, [(0, length - u.x.shape[1]), (0, 0)])
    return x  # [B, length, D]; a negative size truncates


def _head(inputs: int, hidden: int, dropout: float) -> Layer:
    return Sequential(
        Linear(inputs, hidden),
        Tanh(),
        Linear(hidden, hidden),
        Tanh(),
        Dropout(dropout),
        Linear(hidden, 1),
        Tanh(),
    )
