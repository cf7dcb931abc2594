"""A text becomes a sequence of vectors that know their neighbours, or one vector."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from pairlight.kernels import bilstm, lstm
from pairlight.parts import Seq


class LSTM(nn.Module):
    """i, f, o = sigmoid(W [x_t; h_t-1] + b), c_t = f c_t-1 + i tanh(W [x_t; h_t-1] + b), h_t = o tanh(c_t). Seq -> Seq

    The rows of W and b stand in the order i, f, c, o. Backwards, the text is read from its own last word to its first.
    """

    def __init__(self, dim: int, hidden: int, backwards: bool = False) -> None:
        super().__init__()
        self.backwards = backwards
        self.weight = nn.Parameter(torch.empty(4 * hidden, dim + hidden).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(torch.zeros(4 * hidden))

    def forward(self, u: Seq) -> Seq:
        return replace(u, x=lstm(u.x, u.lengths, self.weight, self.bias, reverse=self.backwards))  # [B, L, hidden]


class BiLSTM(nn.Module):
    """p_t = [forward h_t ; backward h_t].   Seq -> Seq"""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.forwards = LSTM(dim, hidden)
        self.backwards = LSTM(dim, hidden, backwards=True)

    def forward(self, u: Seq) -> Seq:
        f, b = self.forwards, self.backwards
        return replace(u, x=bilstm(u.x, u.lengths, f.weight, f.bias, b.weight, b.bias))  # [B, L, 2·hidden]


def last_state(u: Seq) -> Tensor:
    """The vector at each text's own last word: [B, D]."""
    return u.x[torch.arange(len(u.x), device=u.x.device), u.lengths - 1]
