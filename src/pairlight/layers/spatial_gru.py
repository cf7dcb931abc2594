"""A grid is read like a text of two directions: each cell has a state, made of the three before it.   Grid -> [B, D]"""

from typing import Literal, TypedDict, Unpack, cast

import torch
from torch import Tensor

from pairlight.kernels.autograd.spatial_gru import GridStates, GruWeights, spatial_gru, spatial_gru_states
from pairlight.layers.interactions import Interaction, TensorLayer, product
from pairlight.layers.layer import Layer, parameter
from pairlight.layers.tracing import is_watched
from pairlight.layers.types import Grid, Seq

Activation = Literal["tanh", "relu"]


class ScanSettings(TypedDict, total=False):
    """What a scan may be told, whichever way it goes."""

    reset_gates: bool
    tied_gates: bool
    activation: str


class SpatialGRU(Layer):
    """The state at each pair's own last cell, scanned from its first; backwards the other way round.   Grid -> [B, D]

    q     = [h_i-1,j-1 ; h_i-1,j ; h_i,j-1 ; s_ij], where a state outside the grid is zero
    r_p   = sigmoid(W q + b) of p = d, t, l: diagonal, top, left
    z_p   = softmax over p = d, t, l, i of (W q + b), in each dimension apart
    h'_ij = tanh(W [r_d h_i-1,j-1 ; r_t h_i-1,j ; r_l h_i,j-1 ; s_ij] + b)
    h_ij  = z_d h_i-1,j-1 + z_t h_i-1,j + z_l h_i,j-1 + z_i h'_ij

    The rows of `gates` stand in the order r_d r_t r_l z_d z_t z_l z_i, D each, or one each where the gates are tied;
    without reset gates the first three are left out. The columns of `gates` and `candidate` stand as in q.
    """

    def __init__(
        self,
        channels: int,
        hidden: int,
        *,
        reset_gates: bool = True,
        tied_gates: bool = False,
        activation: str = "tanh",
        backwards: bool = False,
    ) -> None:
        self.backwards = backwards
        self.activation = cast(Activation, activation)
        rows = (7 if reset_gates else 4) * (1 if tied_gates else hidden)
        inputs = 3 * hidden + channels
        self.gates = parameter(rows, inputs)
        self.gates_bias = parameter(rows, bound=0)
        self.candidate = parameter(hidden, inputs)
        self.candidate_bias = parameter(hidden, bound=0)

    def forward(self, s: Grid) -> Tensor:
        return self.last(s.x, *_lengths(s))

    def last(self, s: Tensor, left: Tensor, right: Tensor, offset: Tensor | None = None) -> Tensor:
        """The same of s[B, C, L, R] and the texts' lengths; with offset[B, C, L], of relu(s + offset)."""
        return spatial_gru(
            s, left, right, self._weights, offset=offset, activation=self.activation, reverse=self.backwards
        )

    def cells(self, s: Grid) -> GridStates:
        """The state and the gates of every cell, in the grid's own order also where the scan goes backwards."""
        return spatial_gru_states(s.x, *_lengths(s), self._weights, activation=self.activation, reverse=self.backwards)

    @property
    def _weights(self) -> GruWeights:
        return GruWeights(self.gates, self.gates_bias, self.candidate, self.candidate_bias)


class BiSpatialGRU(Layer):
    """h = [last state of the scan from the first cell ; last state of that from the last cell].   Grid -> [B, 2·D]"""

    def __init__(self, channels: int, hidden: int, **scan: Unpack[ScanSettings]) -> None:
        self.forwards = SpatialGRU(channels, hidden, **scan)
        self.backwards = SpatialGRU(channels, hidden, backwards=True, **scan)

    def forward(self, s: Grid) -> Tensor:
        return torch.cat([self.forwards(s), self.backwards(s)], -1)

    def last(self, s: Tensor, left: Tensor, right: Tensor, offset: Tensor | None = None) -> Tensor:
        return torch.cat([way.last(s, left, right, offset) for way in (self.forwards, self.backwards)], -1)


def fused_scan(interact: Interaction, aggregate: SpatialGRU | BiSpatialGRU, u: Seq, v: Seq) -> Tensor:
    """aggregate(interact(u, v)); the offset and relu of a tensor layer are applied during the scan, without padding.

    Layers that are traced run unfused.
    """
    if not isinstance(interact, TensorLayer) or is_watched(interact, *aggregate.all_layers()):
        h: Tensor = aggregate(interact(u, v))
        return h
    factors = interact.factors(u, v)
    times = len(v.x) // len(u.x)
    offset = None if factors.offset is None else factors.offset.repeat(times, 1, 1).mT
    return aggregate.last(product(factors), u.lengths.repeat(times), v.lengths, offset)


def _lengths(s: Grid) -> tuple[Tensor, Tensor]:
    return s.mask.any(2).sum(1), s.mask.any(1).sum(1)  # [B], [B]
