"""MV-LSTM: match two texts at every pair of positions, keep the strongest."""

from typing import Unpack

from torch import Tensor

from pairlight.models.base import Apart
from pairlight.parts import Seq, Tokens
from pairlight.parts.aggregate import KMax
from pairlight.parts.embed import Words, WordSettings
from pairlight.parts.encode import BiLSTM
from pairlight.parts.interact import interaction_named
from pairlight.parts.score import MLP
from pairlight.parts.strongest import strongest


class MVLSTM(Apart[Seq]):
    """Match two sentences at every pair of positions.

    p_t  = [forward LSTM(x)_t ; backward LSTM(x)_t]
    s_ij = interaction of p_i and p_j
    q    = the k largest s_ij of every channel, largest first
    s    = w · relu(W q + b) + c

    The paper does not say how many channels its tensor has nor how wide the hidden layer of the MLP is.

    Settings:
      hidden       size of the LSTM's state in each direction
      interaction  how two positions are compared: cosine, cosine-apart, bilinear or tensor
      channels     slices of the tensor
      k            how many of the strongest interactions are kept in each channel
      mlp          size of the hidden layer before the score
    """

    paper = "Wan et al., AAAI 2016"
    family = "composition"

    def __init__(
        self,
        vocab: int,
        *,
        hidden: int = 50,
        interaction: str = "tensor",
        channels: int = 4,
        k: int = 5,
        mlp: int = 50,
        **words: Unpack[WordSettings],
    ) -> None:
        super().__init__()
        self.words = Words(vocab, **words)
        self.encode = BiLSTM(self.words.dim, hidden)
        self.interact = interaction_named(interaction, 2 * hidden, channels)
        self.aggregate = KMax(k)
        self.score = MLP(self.interact.channels * k, mlp)

    def left(self, tokens: Tokens) -> Seq:
        return self.encode(self.words.of_left(tokens))

    def right(self, tokens: Tokens) -> Seq:
        return self.encode(self.words.of_right(tokens))

    def match(self, u: Seq, v: Seq) -> Tensor:
        return self.score(strongest(self.interact, self.aggregate, u, v))
