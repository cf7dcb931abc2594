"""Bi-LSTM-RNN: LSTM-RNN with an LSTM in each direction."""

from typing import Unpack

from pairlight.layers.backends import array_namespace
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.heads import CosineScore
from pairlight.layers.lstm import LSTM, last_state
from pairlight.layers.settings import Size
from pairlight.layers.types import Array, Seq, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import WORDS


class BiLSTMRNN(DualEncoder[Array]):
    """Encode each text with an LSTM in each direction and compare the last hidden states by cosine.

    h = [forward LSTM(x) at the last word ; backward LSTM(x) at the first word]
    s = cosine(h of the left text, h of the right text)

    Unlike the paper: our experiments use the margin 0.2, not 1, as for lstm-rnn.

    Settings:
      hidden  hidden units of the LSTM in each direction
    """

    paper = "Wan et al., AAAI 2016"
    family = "composition"
    inputs = WORDS
    bounded_score = True

    def __init__(self, vocab: int, *, hidden: Size = 50, **embedding: Unpack[EmbeddingSettings]) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        self.forwards = LSTM(self.embed.dim, hidden)
        self.backwards = LSTM(self.embed.dim, hidden, backwards=True)
        self.score = CosineScore()

    def encode_left(self, tokens: Tokens) -> Array:
        return self.encode(self.embed.left(tokens))

    def encode_right(self, tokens: Tokens) -> Array:
        return self.encode(self.embed.right(tokens))

    def match(self, u: Array, v: Array) -> Array:
        return self.score(u, v)

    def encode(self, u: Seq) -> Array:
        states = [last_state(self.forwards(u)), self.backwards(u).x[:, 0]]
        return array_namespace(u.x).cat(states, -1)  # [B, 2·hidden]
