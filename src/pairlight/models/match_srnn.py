"""Match-SRNN: the match of two texts, built up prefix by prefix."""

from typing import Annotated, Unpack

from torch import Tensor

from pairlight.layers.basic import Linear
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.interactions import InteractionName, build_interaction
from pairlight.layers.settings import Size
from pairlight.layers.spatial_gru import Activation, SpatialGRU, fused_scan
from pairlight.layers.types import Tokens
from pairlight.models.base import PairModel
from pairlight.text.inputs import WORDS


class MatchSRNN(PairModel):
    """The match of two prefixes comes from the three matches of shorter prefixes and from their last words.

    s_ij = relu(u_i·M^c v_j + W^c [u_i ; v_j] + b^c) in every channel c
    q    = [h_i-1,j-1 ; h_i-1,j ; h_i,j-1 ; s_ij]
    r_p  = sigmoid(W q + b) of p = d, t, l: diagonal, top, left
    z_p  = softmax over p = d, t, l, i of (W q + b), in each dimension apart
    h'   = tanh(U [r_d h_i-1,j-1 ; r_t h_i-1,j ; r_l h_i,j-1] + W s_ij + b)
    h_ij = z_d h_i-1,j-1 + z_t h_i-1,j + z_l h_i,j-1 + z_i h'
    s    = w · h_nm + c, n and m the lengths of the pair's own texts

    The paper writes q with top first and the reset states with left first; we read this as one order, since each has
    weights of its own. With interaction=indicator, hidden=1 and reset_gates=false it can count the longest common
    subsequence; with tied_gates it is the form that the paper draws.

    Settings:
      hidden       size of the state of a cell
      channels     slices of the tensor
      interaction  how two words are compared: tensor, cosine, indicator, dot, gaussian or bilinear
      reset_gates  whether a cell may forget its neighbours' states before it makes a new one
      tied_gates   whether all dimensions of a gate have one value
      activation   of the new state: tanh or relu
    """

    paper = "Wan et al., IJCAI 2016"
    family = "interaction"
    inputs = WORDS
    training_defaults = {"lr": 0.1, "epsilon": 1e-10}

    def __init__(
        self,
        vocab: int,
        *,
        hidden: Size = 10,
        channels: Size = 10,
        interaction: Annotated[str, InteractionName] = "tensor",
        reset_gates: bool = True,
        tied_gates: bool = False,
        activation: Annotated[str, Activation] = "tanh",
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        self.interact = build_interaction(interaction, self.embed.dim, channels)
        self.aggregate = SpatialGRU(
            self.interact.channels, hidden, reset_gates=reset_gates, tied_gates=tied_gates, activation=activation
        )
        self.score = Linear(hidden, 1)

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        u, v = self.embed(left, right)
        return self.score(fused_scan(self.interact, self.aggregate, u, v))[:, 0]
