"""LSTM encoders: one hidden state for every word."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear
from pairlight.layers.layer import Layer, parameter
from pairlight.layers.types import Array, LookedUpSeq, Seq


class LSTM(Layer):
    """i, f, o = sigmoid(W [x_t; h_t-1] + b), c_t = f c_t-1 + i tanh(W [x_t; h_t-1] + b), h_t = o tanh(c_t). Seq -> Seq

    The rows of W and b are in the order i, f, c, o. With `backwards`, each text is read from its last word to its
    first.
    """

    def __init__(self, dim: int, hidden: int, backwards: bool = False) -> None:
        self.backwards = backwards
        self.weight = parameter(4 * hidden, dim + hidden)
        self.bias = parameter(4 * hidden, bound=0)

    def forward(self, u: Seq) -> Seq:
        x = _of_distinct_words(u, self)
        if x is None:
            x = array_namespace(u.x).lstm(u.x, u.lengths, self.weight, self.bias, reverse=self.backwards)
        return Seq(x, u.mask, u.ids)  # [B, L, hidden]


class BiLSTM(Layer):
    """p_t = [forward h_t ; backward h_t].   Seq -> Seq"""

    def __init__(self, dim: int, hidden: int) -> None:
        self.dim = 2 * hidden
        self.forwards = LSTM(dim, hidden)
        self.backwards = LSTM(dim, hidden, backwards=True)

    def forward(self, u: Seq) -> Seq:
        f, b = self.forwards, self.backwards
        x = _of_distinct_words(u, f, b)
        if x is None:
            x = array_namespace(u.x).bilstm(u.x, u.lengths, f.weight, f.bias, b.weight, b.bias)
        return Seq(x, u.mask, u.ids)  # [B, L, 2·hidden]


class ResidualBiLSTM(BiLSTM):
    """p_t = x_t + W [forward h_t ; backward h_t], where W starts at zero.   Seq -> Seq"""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__(dim, hidden)
        self.dim = dim
        self.project = Linear(2 * hidden, dim, bias=False)

    def forward(self, u: Seq) -> Seq:
        return u.with_x(u.x + self.project(super().forward(u).x))

    def adjust_start(self) -> None:
        self.project.weight.zero_()


def _of_distinct_words(u: Seq, *directions: LSTM) -> Array | None:
    """The states, with the products of every distinct word computed once; None if the vectors were not looked up."""
    if not isinstance(u, LookedUpSeq):
        return None
    xp = array_namespace(u.rows)
    return xp.lstm_of_rows(u.rows, u.at, u.lengths, [(each.weight, each.bias, each.backwards) for each in directions])


def last_state(u: Seq) -> Array:
    """The vector of each text's last word.   Seq -> [B, D]"""
    return u.x[array_namespace(u.x).arange(len(u.x), u.x), u.lengths - 1]
