"""LSTM-RNN: the last state of one LSTM is the text, compared by cosine."""

from typing import Unpack

from torch import Tensor

from pairlight.models.base import Apart
from pairlight.parts import Tokens
from pairlight.parts.embed import Words, WordSettings
from pairlight.parts.encode import LSTM, last_state
from pairlight.parts.score import CosineScore


class LSTMRNN(Apart[Tensor]):
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

    def __init__(self, vocab: int, *, hidden: int = 50, **words: Unpack[WordSettings]) -> None:
        super().__init__()
        self.words = Words(vocab, **words)
        self.encode = LSTM(self.words.dim, hidden)
        self.score = CosineScore()

    def left(self, tokens: Tokens) -> Tensor:
        return last_state(self.encode(self.words.of_left(tokens)))

    def right(self, tokens: Tokens) -> Tensor:
        return last_state(self.encode(self.words.of_right(tokens)))

    def match(self, u: Tensor, v: Tensor) -> Tensor:
        return self.score(u, v)
