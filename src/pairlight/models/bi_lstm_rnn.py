"""Bi-LSTM-RNN: LSTM-RNN that reads each text in both directions."""

from typing import Unpack

import torch
from torch import Tensor

from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.heads import CosineScore
from pairlight.layers.lstm import LSTM, last_state
from pairlight.layers.settings import Size
from pairlight.layers.types import Seq, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import WORDS


class BiLSTMRNN(DualEncoder[Tensor]):
    """Read each text in both directions, compare where the two readings end.

    h = [forward LSTM(x) at the last word ; backward LSTM(x) at the first word]
    s = cosine(h of the left text, h of the right text)

    Settings:
      hidden  size of the LSTM's state in each direction
    """

    paper = "Wan et al., AAAI 2016"
    family = "composition"
    inputs = WORDS

    def __init__(self, vocab: int, *, hidden: Size = 50, **embedding: Unpack[EmbeddingSettings]) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        self.forwards = LSTM(self.embed.dim, hidden)
        self.backwards = LSTM(self.embed.dim, hidden, backwards=True)
        self.score = CosineScore()

    def encode_left(self, tokens: Tokens) -> Tensor:
        return self.encode(self.embed.left(tokens))

    def encode_right(self, tokens: Tokens) -> Tensor:
        return self.encode(self.embed.right(tokens))

    def match(self, u: Tensor, v: Tensor) -> Tensor:
        return self.score(u, v)

    def encode(self, u: Seq) -> Tensor:
        return torch.cat([last_state(self.forwards(u)), self.backwards(u).x[:, 0]], -1)  # [B, 2·hidden]
