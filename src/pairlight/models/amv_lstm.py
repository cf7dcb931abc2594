"""aMV-LSTM: MV-LSTM that first learns which words of a text deserve attention."""

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


class AMVLSTM(Apart[Seq]):
    """Weigh the words of a text, then match the two texts at every pair of positions.

    a_t  = exp(v·x_t) / sum_j exp(v·x_j),   y_t = a_t x_t, of the left text's words by default
    p_t  = [forward LSTM(y)_t ; backward LSTM(y)_t]
    s_ij = interaction of p_i and p_j
    q    = the k largest s_ij of every channel, largest first
    s    = w · relu(W q + b) + c

    gate=left, right and both are the paper's aMV-LSTM (Q), (A) and (Q+A). That the two directions are compared apart
    is how we read its figure and its note on pooling; the width of the MLP is not in the paper.

    Settings:
      hidden       size of the LSTM's state in each direction
      interaction  how two positions are compared: cosine, cosine-apart, bilinear or tensor
      channels     slices of the tensor
      k            how many of the strongest interactions are kept in each channel
      mlp          size of the hidden layer before the score
    """

    paper = "Belkacem et al., SAC 2019"
    family = "composition"

    def __init__(  # type: ignore[misc]  # a word setting with a default of this model's own
        self,
        vocab: int,
        *,
        hidden: int = 50,
        interaction: str = "cosine-apart",
        channels: int = 4,
        k: int = 100,
        mlp: int = 50,
        gate: str = "left",
        **words: Unpack[WordSettings],
    ) -> None:
        super().__init__()
        self.words = Words(vocab, gate=gate, **words)
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
