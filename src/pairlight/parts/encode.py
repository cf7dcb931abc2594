"""A text becomes a sequence of vectors that know their neighbours, or one vector."""

import torch
from torch import Tensor, nn

from pairlight.parts import Seq


class LSTM(nn.Module):
    """i, f, o = sigmoid(W [x_t; h_t-1] + b), c_t = f c_t-1 + i tanh(W [x_t; h_t-1] + b), h_t = o tanh(c_t). Seq -> Seq

    The rows of W and b stand in the order i, f, c, o. Backwards, the text is read from its own last word to its first.
    """

    def __init__(self, dim: int, hidden: int, backwards: bool = False) -> None:
        super().__init__()
        self.hidden, self.backwards = hidden, backwards
        self.weight = nn.Parameter(torch.empty(4 * hidden, dim + hidden).uniform_(-0.1, 0.1))
        self.bias = nn.Parameter(torch.zeros(4 * hidden))

    def forward(self, u: Seq) -> Seq:
        x = reversed_text(u.x, u.lengths) if self.backwards else u.x
        B, _, D = x.shape
        start = x.new_zeros(1, B, self.hidden)
        weights = [self.weight[:, :D], self.weight[:, D:], self.bias, torch.zeros_like(self.bias)]
        h, _, _ = torch.lstm(x, (start, start), weights, True, 1, 0.0, False, False, True)  # [B, L, hidden]
        return u.with_x(reversed_text(h, u.lengths) if self.backwards else h)


class BiLSTM(nn.Module):
    """p_t = [forward h_t ; backward h_t].   Seq -> Seq"""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.forwards = LSTM(dim, hidden)
        self.backwards = LSTM(dim, hidden, backwards=True)

    def forward(self, u: Seq) -> Seq:
        return u.with_x(torch.cat([self.forwards(u).x, self.backwards(u).x], -1))


def reversed_text(x: Tensor, lengths: Tensor) -> Tensor:
    """Every text back to front within its own length; what lies behind its end stays there."""
    place = torch.arange(x.shape[1], device=x.device)
    back = lengths[:, None] - 1 - place  # [B, L]
    return x.gather(1, torch.where(back >= 0, back, place)[..., None].expand_as(x))


def last_state(u: Seq) -> Tensor:
    """The vector at each text's own last word: [B, D]."""
    return u.x[torch.arange(len(u.x), device=u.x.device), u.lengths - 1]
