"""The spatial GRU of Match-SRNN: scans a grid cell by cell and returns the state of the last cell.   Grid -> [B, D]"""

from typing import Literal, TypedDict, Unpack, cast

from pairlight.kernels.native.spatial_gru import GridStates, GruWeights
from pairlight.layers.backends import array_namespace
from pairlight.layers.interactions import Interaction, TensorLayer, product
from pairlight.layers.layer import Layer, parameter
from pairlight.layers.tracing import is_watched
from pairlight.layers.types import Array, Grid, Seq

Activation = Literal["tanh", "relu"]


class ScanSettings(TypedDict, total=False):
    """The settings of a scan in either direction."""

    reset_gates: bool
    tied_gates: bool
    activation: str


class SpatialGRU(Layer):
    """The state of each pair's last cell, scanned from the first; the reverse with `backwards`.   Grid -> [B, D]

    q     = [h_i-1,j-1 ; h_i-1,j ; h_i,j-1 ; s_ij], where states outside the grid are zero
    r_p   = sigmoid(W q + b) for the neighbors p = d: (i-1, j-1), t: (i-1, j), l: (i, j-1)
    z_p   = softmax of (W q + b) over p = d, t, l and i (the new state), in each dimension separately
    h'_ij = tanh(W [r_d h_i-1,j-1 ; r_t h_i-1,j ; r_l h_i,j-1 ; s_ij] + b)
    h_ij  = z_d h_i-1,j-1 + z_t h_i-1,j + z_l h_i,j-1 + z_i h'_ij

    The rows of `gates` are in the order r_d r_t r_l z_d z_t z_l z_i, with D rows each, or one each with tied gates.
    Without reset gates the first three are missing. The columns of `gates` and `candidate` are in the order of q.

    With relu the weights of h' start non-negative, since a new state that is zero for all inputs has no gradient, and
    the weight of s_ij in z_d starts at 2: a match opens the gate of the diagonal neighbor.
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
        size = 1 if tied_gates else hidden
        rows = (7 if reset_gates else 4) * size
        self.channels = channels
        self.diagonal_rows = slice(3 * size, 4 * size) if reset_gates else slice(size)  # z_d
        inputs = 3 * hidden + channels
        self.gates = parameter(rows, inputs)
        self.gates_bias = parameter(rows, bound=0)
        self.candidate = parameter(hidden, inputs)
        self.candidate_bias = parameter(hidden, bound=0)

    def adjust_start(self) -> None:
        if self.activation == "relu":
            self.candidate.abs_()
            self.gates[self.diagonal_rows, -self.channels :] = 2.0

    def forward(self, s: Grid) -> Array:
        return self.last_state(s.x, *_lengths(s))

    def last_state(self, s: Array, left: Array, right: Array, offset: Array | None = None) -> Array:
        """`forward` for s[B, C, L, R] and the lengths of the texts; with offset[B, C, L], for relu(s + offset)."""
        h: Array = array_namespace(s).spatial_gru(
            s, left, right, self._weights, offset=offset, activation=self.activation, reverse=self.backwards
        )
        return h

    def states_and_gates(self, s: Grid) -> GridStates:
        """The state and the gates of every cell; with `backwards` too, in the order of the grid."""
        found: GridStates = array_namespace(s.x).spatial_gru_states(
            s.x, *_lengths(s), self._weights, activation=self.activation, reverse=self.backwards
        )
        return found

    @property
    def _weights(self) -> GruWeights:
        return GruWeights(self.gates, self.gates_bias, self.candidate, self.candidate_bias)


class BiSpatialGRU(Layer):
    """h = [last state of the forward scan ; last state of the backward scan].   Grid -> [B, 2·D]"""

    def __init__(self, channels: int, hidden: int, **scan: Unpack[ScanSettings]) -> None:
        self.forwards = SpatialGRU(channels, hidden, **scan)
        self.backwards = SpatialGRU(channels, hidden, backwards=True, **scan)

    def forward(self, s: Grid) -> Array:
        h: Array = array_namespace(s.x).cat([self.forwards(s), self.backwards(s)], -1)
        return h

    def last_state(self, s: Array, left: Array, right: Array, offset: Array | None = None) -> Array:
        states = [scan.last_state(s, left, right, offset) for scan in (self.forwards, self.backwards)]
        h: Array = array_namespace(s).cat(states, -1)
        return h


def fused_scan(interact: Interaction, aggregate: SpatialGRU | BiSpatialGRU, u: Seq, v: Seq) -> Array:
    """aggregate(interact(u, v)), where the offset and relu of a tensor layer are applied during the scan.

    Layers that are watched by a trace run one after the other.
    """
    if not isinstance(interact, TensorLayer) or is_watched(interact, *aggregate.all_layers()):
        h: Array = aggregate(interact(u, v))
        return h
    factors = interact.factors(u, v)
    times = len(v.x) // len(u.x)
    xp = array_namespace(u.x)
    offset = None if factors.offset is None else xp.transpose(xp.tile(factors.offset, times), 1, 2)
    return aggregate.last_state(product(factors), xp.tile(u.lengths, times), v.lengths, offset)


def _lengths(s: Grid) -> tuple[Array, Array]:
    return s.mask.any(2).sum(1), s.mask.any(1).sum(1)  # [B], [B]
