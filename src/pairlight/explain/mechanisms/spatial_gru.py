"""The spatial GRU: its states, its gates and the path through them."""

from typing import Any

from numpy.typing import NDArray

from pairlight.explain.backtrace import backtrace
from pairlight.explain.data import GatePath
from pairlight.explain.grids import grid_view
from pairlight.explain.mechanisms.findings import Findings, TracedPair
from pairlight.explain.trace import LayerCall
from pairlight.inference.scoring import to_numpy
from pairlight.layers.basic import Linear
from pairlight.layers.layer import Layer
from pairlight.layers.spatial_gru import SpatialGRU

GATES = ("diagonal", "previous row", "previous column", "new state")


def explain_scan(pair: TracedPair, layer: SpatialGRU, call: LayerCall, findings: Findings) -> None:
    scan = layer.states_and_gates(call.args[0])
    states = to_numpy(scan.states[0])  # [L, R, D]
    gates = to_numpy(scan.update[0]).mean(-1)  # [L, R, 4]; tied gates are the same in all dimensions
    direction = "backward" if layer.backwards else "forward"
    D = states.shape[-1]
    best, weight = _main_dimension(pair.trace.model.without_evidence, D, layer.backwards, states[-1, -1])
    name = f"{direction} state" + (f", dimension {best + 1}" if D > 1 else "") + weight
    findings.grids.append(grid_view(name, "state", pair.rows, pair.columns, states[..., best]))
    for number, gate in enumerate(GATES):
        name = f"{direction} gate: {gate}"
        findings.grids.append(grid_view(name, "gate", pair.rows, pair.columns, gates[..., number]))
    # The gate of the new state counts only if the state has one dimension: see `backtrace`.
    path = backtrace((gates if D == 1 else gates[..., :3]).tolist(), backwards=layer.backwards)
    findings.paths.append(GatePath(direction, path))


def _main_dimension(model: Layer, D: int, backwards: bool, last: NDArray[Any]) -> tuple[int, str]:
    """The dimension of the state with the largest weight in a linear score, otherwise with the largest last value."""
    score = getattr(model, "score", None)
    if not isinstance(score, Linear) or score.weight.shape[1] % D:
        return int(abs(last).argmax()), ""
    weights = to_numpy(score.weight[0]).reshape(-1, D)[-1 if backwards else 0]
    best = int(abs(weights).argmax())
    return best, f" (weight {float(weights[best]):.2g})"
