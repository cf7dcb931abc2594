"""Pooled grids: what the pooled cells contribute, and the words that they depend on."""

import numpy as np

from pairlight.explain.attribution import integrated_gradients
from pairlight.explain.data import Fact, FactTable
from pairlight.explain.grids import AxisLabels
from pairlight.explain.mechanisms.findings import Findings, TracedPair, top_facts
from pairlight.explain.trace import LayerCall
from pairlight.inference.scoring import to_numpy
from pairlight.layers.conv_pool import GridConvPoolCNN
from pairlight.layers.grid_conv import GridConv
from pairlight.layers.grid_pool import GridPool, segments

NAME = "pooled cells"


def explain_grid_pool(pair: TracedPair, layer: GridPool, call: LayerCall, findings: Findings) -> None:
    """The cells that are the largest of their segment of the grid."""
    s = call.args[0]
    if s.x.shape[2:] != (len(pair.rows), len(pair.columns)):
        return  # a later pooling layer, whose cells do not belong to particular words
    found = integrated_gradients(pair.trace, [layer])
    if found is None or not found.is_complete:
        return
    conv = next((c.layer for c in pair.trace.calls if c.output is s and isinstance(c.layer, GridConv)), None)
    around_row, around_column = conv.padding if isinstance(conv, GridConv) else ((0, 0), (0, 0))
    i = segments(s.mask.any(2).sum(1), layer.rows, layer.doubling)[0]  # [P, W]
    j = segments(s.mask.any(1).sum(1), layer.columns, layer.doubling)[0]  # [Q, V]
    contributions = to_numpy(found.outputs[0].contributions)  # [C, P, Q]
    totals: dict[tuple[int, int, int], float] = {}
    for c, p, q in np.argwhere(contributions).tolist():
        segment = s.x[0, c][i[p]][:, j[q]]
        at = int(segment.argmax())
        cell = (c, int(i[p][at // segment.shape[1]]), int(j[q][at % segment.shape[1]]))
        totals[cell] = totals.get(cell, 0.0) + float(contributions[c, p, q])
    facts = [
        Fact(
            f"{pair.rows[row].text} × {pair.columns[column].text}"
            + (f", map {c + 1}" if len(contributions) > 1 else ""),
            pair.words(0, row, *around_row),
            pair.words(1, column, *around_column),
            total,
            {"value": float(s.x[0, c, row, column])},
        )
        for (c, row, column), total in totals.items()
    ]
    description = "Cells that are the largest of their segment of the grid, with all words that they depend on."
    findings.tables.append(FactTable(NAME, description, top_facts(facts)))


def explain_conv_pool(pair: TracedPair, layer: GridConvPoolCNN, call: LayerCall, findings: Findings) -> None:
    """The cells of the last layer of a network of convolutions and pooling."""
    found = integrated_gradients(pair.trace, [layer])
    if found is None or not found.is_complete:
        return
    size = layer.final_length
    contributions = to_numpy(found.outputs[0].contributions).reshape(-1, size, size).sum(0)  # [P, Q]
    facts = []
    for p, q in np.argwhere(contributions).tolist():
        left, right = _receptive_field(layer, p, pair.rows), _receptive_field(layer, q, pair.columns)
        facts.append(Fact(f"cell {p + 1}, {q + 1}", left, right, float(contributions[p, q])))
    description = "Cells of the last layer, with all words that they depend on."
    findings.tables.append(FactTable(NAME, description, top_facts(facts)))


def _receptive_field(layer: GridConvPoolCNN, position: int, labels: AxisLabels) -> tuple[int, ...]:
    """The words that a row or column of the last layer depends on."""
    first, last = position, position
    for block in reversed(layer.blocks):
        first, last = 2 * first, 2 * last + block.width
    near = labels[first : last + 1]
    return tuple(range(near[0].first, near[-1].end)) if near else ()
