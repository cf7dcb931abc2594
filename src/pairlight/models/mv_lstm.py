"""MV-LSTM: compares two texts at every pair of positions and keeps the k largest interactions."""

from typing import Annotated, Unpack

from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.fused_topk import fused_topk, stored_topk
from pairlight.layers.heads import score_layers
from pairlight.layers.interactions import InteractionName, build_interaction, unit
from pairlight.layers.lstm import BiLSTM, ResidualBiLSTM
from pairlight.layers.settings import Count, Size
from pairlight.layers.stored import StoredScorer
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

    Unlike the paper: the matrices of bilinear and tensor start near the identity, not near zero; biases start at zero;
    word vectors are scaled to length 1, and our experiments do not train them; skip-gram vectors come from the training
    part of a dataset, not from all of it. `residual` and `unit_states` are not in the paper; our experiments use the
    latter with bilinear and tensor, which then start as cosine and learn from there.

    Settings:
      hidden       hidden units of the LSTM in each direction
      interaction  how two positions are compared: cosine, cosine-per-direction, bilinear or tensor
      channels     slices of the tensor
      k            number of largest interactions kept in each channel
      mlp          hidden units of the MLP; 0 for a single linear layer
      residual     compare x_t + W p_t instead of p_t, where W starts at zero
      unit_states  compare p_t / |p_t| instead of p_t, as cosine always does
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
        mlp: Count = 50,
        residual: bool = False,
        unit_states: bool = False,
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.unit_states = unit_states
        self.embed = WordEmbedding(vocab, **embedding)
        self.encode = ResidualBiLSTM(self.embed.dim, hidden) if residual else BiLSTM(self.embed.dim, hidden)
        self.interact = build_interaction(interaction, self.encode.dim, channels)
        self.aggregate = KMax(k)
        self.score = score_layers(self.interact.channels * k, mlp)

    def encode_left(self, tokens: Tokens) -> Seq:
        return self.states(self.embed.left(tokens))

    def encode_right(self, tokens: Tokens) -> Seq:
        return self.states(self.embed.right(tokens))

    def states(self, u: Seq) -> Seq:
        p = self.encode(u)
        return p.with_x(unit(p.x)) if self.unit_states else p

    def stored_scorer(self) -> StoredScorer | None:
        return stored_topk(self.interact, self.aggregate, self.score)

    def match(self, u: Seq, v: Seq) -> Array:
        return self.score(fused_topk(self.interact, self.aggregate, u, v))
