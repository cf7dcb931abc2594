"""aMV-LSTM: MV-LSTM with attention over the words of a text."""

from typing import Annotated, Unpack

from pairlight.layers.embedding import EmbeddingSettings, Gate, WordEmbedding
from pairlight.layers.fused_topk import fused_topk, stored_topk
from pairlight.layers.heads import score_layers
from pairlight.layers.interactions import InteractionName, build_interaction
from pairlight.layers.lstm import BiLSTM, ResidualBiLSTM
from pairlight.layers.settings import Count, Size
from pairlight.layers.stored import StoredScorer
from pairlight.layers.topk import KMax
from pairlight.layers.types import Array, Seq, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import WORDS


class AMVLSTM(DualEncoder[Seq]):
    """Weight the words of a text by attention, then match the two texts at every pair of positions.

    a_t  = exp(v·x_t) / sum_j exp(v·x_j),   y_t = a_t x_t; by default for the words of the left text
    p_t  = [forward LSTM(y)_t ; backward LSTM(y)_t]
    s_ij = interaction of p_i and p_j
    q    = the k largest s_ij of every channel, largest first
    s    = w · relu(W q + b) + c

    gate=left, right and both are the paper's aMV-LSTM (Q), (A) and (Q+A). That the two directions are compared
    separately is our interpretation of its figure and of its note on pooling.

    Unlike the paper: the score has a hidden layer; the paper's s = δ(U q + b) is mlp=0, with the identity as δ, which
    the paper does not name. Our experiments multiply a_t by the length of the text (rescale=true), where the paper has
    a_t alone, the default here. `residual` is not in the paper. The paper trains for 400 or 500 epochs and measures the
    last one; here training is shorter and the best epoch on dev is kept.

    Settings:
      hidden       hidden units of the LSTM in each direction
      interaction  how two positions are compared: cosine, cosine-per-direction, bilinear or tensor
      channels     slices of the tensor
      k            number of largest interactions kept in each channel
      mlp          hidden units of the MLP; 0 for a single linear layer
      residual     compare x_t + W p_t instead of p_t, where W starts at zero
    """

    paper = "Belkacem et al., SAC 2019"
    family = "composition"
    inputs = WORDS

    def __init__(  # type: ignore[misc]  # declares an embedding setting to give it another default
        self,
        vocab: int,
        *,
        hidden: Size = 50,
        interaction: Annotated[str, InteractionName] = "cosine-per-direction",
        channels: Size = 4,
        k: Size = 100,
        mlp: Count = 50,
        residual: bool = False,
        gate: Annotated[str, Gate] = "left",
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, gate=gate, **embedding)
        self.encode = ResidualBiLSTM(self.embed.dim, hidden) if residual else BiLSTM(self.embed.dim, hidden)
        self.interact = build_interaction(interaction, self.encode.dim, channels)
        self.aggregate = KMax(k)
        self.score = score_layers(self.interact.channels * k, mlp)

    def encode_left(self, tokens: Tokens) -> Seq:
        return self.encode(self.embed.left(tokens))

    def encode_right(self, tokens: Tokens) -> Seq:
        return self.encode(self.embed.right(tokens))

    def stored_scorer(self) -> StoredScorer | None:
        return stored_topk(self.interact, self.aggregate, self.score)

    def match(self, u: Seq, v: Seq) -> Array:
        return self.score(fused_topk(self.interact, self.aggregate, u, v))
