"""Bi-Match-SRNN: Match-SRNN that scans the grid from both of its corners."""

from typing import Unpack

from torch import Tensor, nn

from pairlight.models.base import PairModel
from pairlight.parts import Tokens
from pairlight.parts.embed import Words, WordSettings
from pairlight.parts.interact import interaction_named
from pairlight.parts.spatial import BiSpatialGRU, scanned


class BiMatchSRNN(PairModel):
    """The match of the prefixes and the match of the suffixes, each built up word by word.

    s_ij = relu(u_i·M^c v_j + W^c [u_i ; v_j] + b^c) in every channel c
    f_ij = spatial GRU of f_i-1,j-1, f_i-1,j, f_i,j-1 and s_ij, as in match-srnn
    g_ij = spatial GRU of g_i+1,j+1, g_i+1,j, g_i,j+1 and s_ij, with weights of its own
    s    = w · [f_nm ; g_11] + c, n and m the lengths of the pair's own texts

    The paper only says that this form also scans from the far corner; weights of its own and a score of both last
    states are our reading.

    Settings:
      hidden       size of the state of a cell in each direction
      channels     slices of the tensor
      interaction  how two words are compared: tensor, cosine, indicator, dot, gaussian or bilinear
      reset_gates  whether a cell may forget its neighbours' states before it makes a new one
      tied_gates   whether all dimensions of a gate have one value
      activation   of the new state: tanh or relu
    """

    paper = "Wan et al., IJCAI 2016"
    family = "interaction"
    recipe = {"lr": 0.1, "epsilon": 1e-10}

    def __init__(
        self,
        vocab: int,
        *,
        hidden: int = 10,
        channels: int = 10,
        interaction: str = "tensor",
        reset_gates: bool = True,
        tied_gates: bool = False,
        activation: str = "tanh",
        **words: Unpack[WordSettings],
    ) -> None:
        super().__init__()
        self.words = Words(vocab, **words)
        self.interact = interaction_named(interaction, self.words.dim, channels)
        self.aggregate = BiSpatialGRU(
            self.interact.channels, hidden, reset_gates=reset_gates, tied_gates=tied_gates, activation=activation
        )
        self.score = nn.Linear(2 * hidden, 1)

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        u, v = self.words(left, right)
        return self.score(scanned(self.interact, self.aggregate, u, v))[:, 0]
