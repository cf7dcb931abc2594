"""Bi-Match-SRNN: Match-SRNN with a second scan from the last cell to the first."""

from typing import Annotated, Unpack

from pairlight.layers.basic import Linear
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.interactions import InteractionName, build_interaction
from pairlight.layers.settings import Size
from pairlight.layers.spatial_gru import Activation, BiSpatialGRU, fused_scan
from pairlight.layers.types import Array, Tokens
from pairlight.models.base import PairModel
from pairlight.text.inputs import WORDS


class BiMatchSRNN(PairModel):
    """Compute the match of two texts from the matches of their prefixes and from those of their suffixes.

    s_ij = relu(u_i·M^c v_j + W^c [u_i ; v_j] + b^c) in every channel c
    f_ij = spatial GRU of f_i-1,j-1, f_i-1,j, f_i,j-1 and s_ij, as in match-srnn
    g_ij = spatial GRU of g_i+1,j+1, g_i+1,j, g_i,j+1 and s_ij, with its own weights
    s    = w · [f_nm ; g_11] + c, where n and m are the lengths of the two texts

    The paper says only that this form also scans from the last cell. That this scan has its own weights, and that the
    score uses both last states, is our interpretation.

    Unlike the paper: biases start at zero; the matrices of the tensor start near the identity; word vectors are scaled
    to length 1, and our experiments do not train them.

    Settings:
      hidden       size of the state of a cell in each direction
      channels     slices of the tensor
      interaction  how two words are compared: tensor, cosine, indicator, dot, gaussian or bilinear
      reset_gates  use reset gates for the states of the three neighbors
      tied_gates   use one value per gate for all dimensions
      activation   activation of the new state: tanh or relu
    """

    paper = "Wan et al., IJCAI 2016"
    family = "interaction"
    inputs = WORDS
    paper_training = {"lr": 0.1, "epsilon": 1e-10}

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
        self.aggregate = BiSpatialGRU(
            self.interact.channels, hidden, reset_gates=reset_gates, tied_gates=tied_gates, activation=activation
        )
        self.score = Linear(2 * hidden, 1)

    def forward(self, left: Tokens, right: Tokens) -> Array:
        u, v = self.embed(left, right)
        return self.score(fused_scan(self.interact, self.aggregate, u, v))[:, 0]
