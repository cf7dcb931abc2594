"""MV-LSTM: compares two texts at every pair of positions and keeps the k largest interactions."""

from typing import Annotated, Unpack

from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.fused_topk import fused_topk
from pairlight.layers.heads import MLP
from pairlight.layers.interactions import InteractionName, build_interaction
from pairlight.layers.lstm import BiLSTM, ResidualBiLSTM
from pairlight.layers.settings import Size
from pairlight.layers.topk import KMax
from pairlight.layers.types import Array, Seq, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import WORDS


class MVLSTM(DualEncoder[Seq]):
    """Match two sentences at every pair of positions.

    p_t  = [forward LSTM(x)_t ; backward LSTM(x)_t]
    s_ij = interaction of p_i and p_j
    q    = the k largest s_ij of every channel, largest first
    s    = w · relu(W q + b) + c

    The paper does not give the number of slices of its tensor nor the hidden units of its MLP.

    Settings:
      hidden       hidden units of the LSTM in each direction
      interaction  how two positions are compared: cosine, cosine-per-direction, bilinear or tensor
      channels     slices of the tensor
      k            number of largest interactions kept in each channel
      mlp          hidden units of the MLP
      residual     compare x_t + W p_t instead of p_t, where W starts at zero; not in the paper
    """

    paper = "Wan et al., AAAI 2016"
    family = "composition"
    inputs = WORDS

    def __init__(
        self,
        vocab: int,
        *,
        hidden: Size = 50,
        interaction: Annotated[str, InteractionName] = "tensor",
        channels: Size = 4,
        k: Size = 5,
        mlp: Size = 50,
        residual: bool = False,
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        self.encode = ResidualBiLSTM(self.embed.dim, hidden) if residual else BiLSTM(self.embed.dim, hidden)
        self.interact = build_interaction(interaction, self.encode.dim, channels)
        self.aggregate = KMax(k)
        self.score = MLP(self.interact.channels * k, mlp)

    def encode_left(self, tokens: Tokens) -> Seq:
        return self.encode(self.embed.left(tokens))

    def encode_right(self, tokens: Tokens) -> Seq:
        return self.encode(self.embed.right(tokens))

    def match(self, u: Seq, v: Seq) -> Array:
        return self.score(fused_topk(self.interact, self.aggregate, u, v))
