"""aMV-LSTM: MV-LSTM that first learns which words of a text deserve attention."""

from typing import Annotated, Unpack

from torch import Tensor

from pairlight.layers.embedding import EmbeddingSettings, Gate, WordEmbedding
from pairlight.layers.fused_topk import fused_topk
from pairlight.layers.heads import MLP
from pairlight.layers.interactions import InteractionName, build_interaction
from pairlight.layers.lstm import BiLSTM
from pairlight.layers.settings import Size
from pairlight.layers.topk import KMax
from pairlight.layers.types import Seq, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import WORDS


class AMVLSTM(DualEncoder[Seq]):
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
      interaction  how two positions are compared: cosine, cosine-per-direction, bilinear or tensor
      channels     slices of the tensor
      k            how many of the strongest interactions are kept in each channel
      mlp          size of the hidden layer before the score
    """

    paper = "Belkacem et al., SAC 2019"
    family = "composition"
    inputs = WORDS

    def __init__(  # type: ignore[misc]  # an embedding setting with a default of this model's own
        self,
        vocab: int,
        *,
        hidden: Size = 50,
        interaction: Annotated[str, InteractionName] = "cosine-per-direction",
        channels: Size = 4,
        k: Size = 100,
        mlp: Size = 50,
        gate: Annotated[str, Gate] = "left",
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, gate=gate, **embedding)
        self.encode = BiLSTM(self.embed.dim, hidden)
        self.interact = build_interaction(interaction, 2 * hidden, channels)
        self.aggregate = KMax(k)
        self.score = MLP(self.interact.channels * k, mlp)

    def encode_left(self, tokens: Tokens) -> Seq:
        return self.encode(self.embed.left(tokens))

    def encode_right(self, tokens: Tokens) -> Seq:
        return self.encode(self.embed.right(tokens))

    def match(self, u: Seq, v: Seq) -> Tensor:
        return self.score(fused_topk(self.interact, self.aggregate, u, v))
