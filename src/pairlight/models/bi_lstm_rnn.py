"""Bi-LSTM-RNN: LSTM-RNN that reads each text in both directions."""

from typing import Unpack

import torch
from torch import Tensor

from pairlight.models.base import Apart
from pairlight.parts import Seq, Tokens
from pairlight.parts.embed import Words, WordSettings
from pairlight.parts.encode import LSTM, last_state
from pairlight.parts.score import CosineScore


class BiLSTMRNN(Apart[Tensor]):
    """Read each text in both directions, compare where the two readings end.

    h = [forward LSTM(x) at the last word ; backward LSTM(x) at the first word]
    s = cosine(h of the left text, h of the right text)

    Settings:
      hidden  size of the LSTM's state in each direction
    """

    paper = "Wan et al., AAAI 2016"
    family = "composition"

    def __init__(self, vocab: int, *, hidden: int = 50, **words: Unpack[WordSettings]) -> None:
        super().__init__()
        self.words = Words(vocab, **words)
        self.forwards = LSTM(self.words.dim, hidden)
        self.backwards = LSTM(self.words.dim, hidden, backwards=True)
        self.score = CosineScore()

    def left(self, tokens: Tokens) -> Tensor:
        return self.encode(self.words.of_left(tokens))

    def right(self, tokens: Tokens) -> Tensor:
        return self.encode(self.words.of_right(tokens))

    def match(self, u: Tensor, v: Tensor) -> Tensor:
        return self.score(u, v)

    def encode(self, u: Seq) -> Tensor:
        return torch.cat([last_state(self.forwards(u)), self.backwards(u).x[:, 0]], -1)  # [B, 2·hidden]
