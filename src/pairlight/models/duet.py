"""DUET: one network looks where words are the same, another at what the texts say; their scores are added."""

from torch import Tensor, nn
from torch.nn import functional as F

from pairlight.core.errors import InputError
from pairlight.layers.basic import Dropout, Linear, Sequential, Tanh
from pairlight.layers.char_ngrams import CharNgramEmbedding, glorot_uniform, windows_of_three
from pairlight.layers.interactions import Indicator
from pairlight.layers.layer import parameter
from pairlight.layers.settings import Fraction, Size
from pairlight.layers.types import Grid, Seq, Tokens, tile_left_vectors
from pairlight.models.base import PairModel
from pairlight.text.inputs import InputSpec


class Duet(PairModel):
    """A local network on exact matches and a distributed one on what words are spelt with, trained as one.

    Both texts are brought to fixed lengths n and m: cut, or filled up with empty words.
    X_ij = 1 where words i and j are the same, else 0
    f_t  = how often each of the 2,000 most frequent pieces of one to five letters stands in word t

    r_i = tanh(A X_i + a), X_i the row of left word i
    q   = tanh(Q max of tanh(B [f_t ; f_t+1 ; f_t+2] + b) over all windows of the left text + k)
    d_t = tanh(D max of tanh(C [f_t ; f_t+1 ; f_t+2] + c) over `pool` windows of the right text from t on + l)
    s   = head([r_1 ; .. ; r_n]) + head([q * d_1 ; q * d_2 ; ..])

    Each head is tanh(w · tanh(W tanh(V z + u) + v) + o) with weights of its own. Weights start in Glorot's range
    and are trained by the softmax over one better and J worse texts.

    Unlike the paper: sizes are for short texts (the paper has n = 10, m = 1000, hidden = 300 and pool = 100), and the
    optimiser is Adam with weight decay, not plain gradient descent. The layers are those of the authors' code, but
    their reader of texts misses the pieces a word ends with.

    Settings:
      left_length   words of the left text that are read
      right_length  words of the right text that are read
      hidden        units of every layer
      pool          windows of the right text that share a maximum
      dropout       share of a head's last hidden units silenced in training
    """

    paper = "Mitra et al., WWW 2017"
    family = "interaction"
    inputs = InputSpec(input_kind="ngraphs", max_vocab=2000, max_lengths=("left_length", "right_length"))
    training_defaults = {
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
            raise InputError(f"left_length={left_length} is too small: a window needs at least 3 words.")
        if right_length < pool + 2:
            raise InputError(f"right_length={right_length} is too small: pool={pool} needs at least {pool + 2} words.")
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
        glorot_uniform(self)

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        (u,), (v,) = self.embed_left(left), self.embed_right(right)
        return self.local(self.interact(u, v)) + self.distributed(u, v)

    def local(self, s: Grid) -> Tensor:
        *_, L, R = s.x.shape
        x = F.pad(s.x[:, 0], (0, self.right_length - R, 0, self.left_length - L))  # [B, n, m]; below zero it cuts
        return self.local_head(self.rows(x).tanh().flatten(1))[:, 0]

    def distributed(self, u: Seq, v: Seq) -> Tensor:
        # tanh keeps order: it is taken behind each maximum.
        h = windows_of_three(_of_length(self.left_length, u)) + self.left_bias
        q = self.left_out(h.amax(1).tanh()).tanh()  # [B, hidden]
        h = windows_of_three(_of_length(self.right_length, v)) + self.right_bias
        d = self.right_out(F.max_pool1d(h.mT, self.pool, 1).mT.tanh()).tanh()  # [B, m - 1 - pool, hidden]
        q, d = tile_left_vectors(q, d)
        return self.distributed_head((q[:, None] * d).flatten(1))[:, 0]


def _of_length(length: int, u: Seq) -> Tensor:
    return F.pad(u.x, (0, 0, 0, length - u.x.shape[1]))


def _head(inputs: int, hidden: int, dropout: float) -> nn.Module:
    return Sequential(
        Linear(inputs, hidden),
        Tanh(),
        Linear(hidden, hidden),
        Tanh(),
        Dropout(dropout),
        Linear(hidden, 1),
        Tanh(),
    )
