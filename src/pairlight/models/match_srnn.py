"""Match-SRNN: a spatial GRU computes the match of two texts from the matches of their prefixes."""

from typing import Annotated, Unpack

from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.interactions import InteractionName, build_interaction
from pairlight.layers.settings import Size
from pairlight.layers.spatial_gru import Activation, SpatialGRU, fused_scan
from pairlight.layers.types import Array, Tokens
from pairlight.models.base import PairModel
from pairlight.text.inputs import WORDS


class MatchSRNN(PairModel):
    """Compute the match of two prefixes from three matches of shorter prefixes and the interaction of the last words.

    s_ij = relu(u_i·M^c v_j + W^c [u_i ; v_j] + b^c) in every channel c
    q    = [h_i-1,j-1 ; h_i-1,j ; h_i,j-1 ; s_ij]
    r_p  = sigmoid(W q + b) for the neighbors p = d: (i-1, j-1), t: (i-1, j), l: (i, j-1)
    z_p  = softmax of (W q + b) over p = d, t, l and i (the new state), in each dimension separately
    h'   = tanh(U [r_d h_i-1,j-1 ; r_t h_i-1,j ; r_l h_i,j-1] + W s_ij + b)
    h_ij = z_d h_i-1,j-1 + z_t h_i-1,j + z_l h_i,j-1 + z_i h'
    s    = w · h_nm + c, where n and m are the lengths of the two texts

    The paper puts neighbor t first in q, but l first in the reset states. We use one order for both, since every
    neighbor has its own weights. With interaction=indicator, hidden=1 and reset_gates=false the model can count the
    longest common subsequence; with tied_gates it is the form shown in the paper's figure.

    Unlike the paper: biases start at zero; the matrices of the tensor start near the identity; word vectors are scaled
    to length 1, and our experiments do not train them. With activation=relu, which the paper does not mention, the
    weights of h' and of the score start non-negative, and that of s_ij in z_d starts at 2.

    Settings:
      hidden       size of the state of a cell
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
        self.aggregate = SpatialGRU(
            self.interact.channels, hidden, reset_gates=reset_gates, tied_gates=tied_gates, activation=activation
        )
        self.score = Linear(hidden, 1)

    def init_weights(self, scale: float) -> None:
        super().init_weights(scale)
        if self.aggregate.activation == "relu":
            with array_namespace(self.score.weight).no_grad():
                self.score.weight.abs_()  # where more matches lower the score, training closes all gates

    def forward(self, left: Tokens, right: Tokens) -> Array:
        u, v = self.embed(left, right)
        return self.score(fused_scan(self.interact, self.aggregate, u, v))[:, 0]
