"""LSTM-RNN: the last hidden state of an LSTM encodes each text; the encodings are compared by cosine."""

from typing import Unpack

from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.heads import CosineScore
from pairlight.layers.lstm import LSTM, last_state
from pairlight.layers.settings import Size
from pairlight.layers.types import Array, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import WORDS


class LSTMRNN(DualEncoder[Array]):
    """Encode each text with an LSTM and compare the last hidden states by cosine.

    h_t = LSTM(x)_t
    s   = cosine(h_n of the left text, h_m of the right text)

    Unlike the paper: the inputs are word vectors, not character trigrams; the LSTM has no peepholes; and the loss is
    the pairwise hinge. This is the form that the MV-LSTM paper compares itself with. That paper has the margin 1, our
    experiments 0.2: cosines of two right texts rarely differ by 1, so under that margin no pair is finished.

    Settings:
      hidden  hidden units of the LSTM
    """

    paper = "Palangi et al., TASLP 2016"
    family = "composition"
    inputs = WORDS
    bounded_score = True

    def __init__(self, vocab: int, *, hidden: Size = 50, **embedding: Unpack[EmbeddingSettings]) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        self.encode = LSTM(self.embed.dim, hidden)
        self.score = CosineScore()

    def encode_left(self, tokens: Tokens) -> Array:
        return last_state(self.encode(self.embed.left(tokens)))

    def encode_right(self, tokens: Tokens) -> Array:
        return last_state(self.encode(self.embed.right(tokens)))

    def match(self, u: Array, v: Array) -> Array:
        return self.score(u, v)
