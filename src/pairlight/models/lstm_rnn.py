"""LSTM-RNN: the last state of one LSTM is the text, compared by cosine."""

from typing import Unpack

from torch import Tensor

from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.heads import CosineScore
from pairlight.layers.lstm import LSTM, last_state
from pairlight.layers.settings import Size
from pairlight.layers.types import Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import WORDS


class LSTMRNN(DualEncoder[Tensor]):
    """Read each text once, compare where the reading ends.

    h_t = LSTM(x)_t
    s   = cosine(h_n of the left text, h_m of the right text)

    Unlike the paper: words come in as vectors, not as letter trigrams, the LSTM has no peepholes, and the loss is
    the pairwise hinge; this is the form in which the MV-LSTM paper compares itself with it.

    Settings:
      hidden  size of the LSTM's state
    """

    paper = "Palangi et al., TASLP 2016"
    family = "composition"
    inputs = WORDS

    def __init__(self, vocab: int, *, hidden: Size = 50, **embedding: Unpack[EmbeddingSettings]) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        self.encode = LSTM(self.embed.dim, hidden)
        self.score = CosineScore()

    def encode_left(self, tokens: Tokens) -> Tensor:
        return last_state(self.encode(self.embed.left(tokens)))

    def encode_right(self, tokens: Tokens) -> Tensor:
        return last_state(self.encode(self.embed.right(tokens)))

    def match(self, u: Tensor, v: Tensor) -> Tensor:
        return self.score(u, v)
