"""The interaction grid of a traced pair: its channels, the words of its rows and columns, and its top cells."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.explain.attribution import IntegratedGradients, integrated_gradients
from pairlight.explain.data import AxisLabel, GridKind, GridView, TopCell, WordSpan
from pairlight.explain.trace import LayerCall, Trace, edited_scores
from pairlight.inference.scoring import to_numpy
from pairlight.kernels.native.kmax import kmax
from pairlight.layers.interactions import CosinePerDirection
from pairlight.layers.ngrams import NgramCosine
from pairlight.layers.phrases import Phrases
from pairlight.layers.segment_pairs import SegmentPairs
from pairlight.layers.topk import KMax
from pairlight.layers.tree_autoencoder import TreeAutoencoder
from pairlight.layers.trees import Trees
from pairlight.layers.types import Array

MAX_CELLS = 12  # top cells of models that do not pool a fixed number of cells
AxisLabels = tuple[AxisLabel, ...]


def interaction_grids(
    trace: Trace, interaction: LayerCall, left: tuple[WordSpan, ...], right: tuple[WordSpan, ...]
) -> tuple[GridView, ...]:
    """Every channel of the interaction grid."""
    rows, columns = axis_labels(trace, interaction, 0, left), axis_labels(trace, interaction, 1, right)
    x = interaction.output.x[0]  # [C, L, R]
    return tuple(
        grid_view(name, "interaction", rows, columns, channel)
        for name, channel in zip(_channel_names(interaction, len(x)), x, strict=True)
    )


def grid_view(name: str, kind: GridKind, rows: AxisLabels, columns: AxisLabels, values: Any) -> GridView:
    return GridView(name, kind, rows, columns, tuple(map(tuple, values[: len(rows), : len(columns)].tolist())))


def axis_labels(trace: Trace, interaction: LayerCall, side: int, words: tuple[WordSpan, ...]) -> AxisLabels:
    """The words of each row (side 0) or column (side 1) of the grid."""
    count = interaction.output.x.shape[2 + side]
    if isinstance(interaction.layer, SegmentPairs):
        width = (interaction.layer.left, interaction.layer.right)[side].width
        return _phrases([(2 * t, min(2 * t + width + 1, len(words))) for t in range(count)], words)
    for call in trace.calls:
        # The encoder whose output is this argument of the interaction determines what its positions are.
        if side < len(interaction.args) and call.output is interaction.args[side]:
            if isinstance(call.layer, TreeAutoencoder):
                (trees,) = call.notes
                return _phrases(_tree_nodes(trees, len(words)), words)
            if isinstance(call.layer, Phrases):
                return _phrases(_phrase_levels(call.layer, len(words), count), words)
    if count == len(words):
        return _phrases([(t, t + 1) for t in range(count)], words)
    return tuple(AxisLabel(f"#{t + 1}", 0, 0) for t in range(count))


def is_word_axis(labels: AxisLabels) -> bool:
    """Whether every row or column is one word, in the order of the text."""
    return all(label.end == label.first + 1 == t + 1 for t, label in enumerate(labels))


def top_cells(
    trace: Trace, interaction: LayerCall, attribute: bool
) -> tuple[tuple[TopCell, ...], IntegratedGradients | None]:
    """The cells that the model pools, or those with the largest contributions.

    A contribution is the part of the cell in the difference between the score and the score of a grid of zeros. Without
    `attribute`, cells that the model does not pool are selected by their values and have no contributions.
    """
    x = to_numpy(interaction.output.x[0])  # [C, L, R]
    pooling = next((layer for layer, call in trace.calls_of(KMax) if call.args[0] is interaction.output), None)
    attribute = attribute or pooling is not None
    found = integrated_gradients(trace, [interaction.layer]) if attribute else None
    attributions = to_numpy(found.outputs[0].contributions) if found is not None and _is_usable(found) else None
    if pooling is not None:
        selected = _pooled_cells(interaction, pooling.k)
    else:
        selected = _largest_cells(x if attributions is None else abs(attributions))
    contributions: list[float] | list[None]
    if not attribute:
        contributions, total = [None] * len(selected), 0.0
    elif attributions is None:
        contributions = _leave_one_cell_out(trace, interaction, selected)
        total = sum(map(abs, contributions))
    else:
        contributions = [float(attributions[c].flatten()[at]) for c, at, _ in selected]
        total = float(abs(attributions).sum())
    R = x.shape[2]
    cells = [
        TopCell(c, at // R, at % R, float(x[c].flatten()[at]), rank, value, value / total if value and total else value)
        for (c, at, rank), value in zip(selected, contributions, strict=True)
    ]
    # Pooled cells keep the order of the model; others are sorted by contribution.
    cells.sort(
        key=lambda cell: (0 if pooling is None else cell.rank, -abs(cell.contribution or 0), -cell.value, cell.grid)
    )
    return tuple(cells), found


Selected = list[tuple[int, int, int]]  # channel, position in the flattened channel, rank in the channel


def _is_usable(found: IntegratedGradients) -> bool:
    return found.is_complete and len(found.outputs) == 1


def _pooled_cells(interaction: LayerCall, k: int) -> Selected:
    x, mask = to_numpy(interaction.output.x), to_numpy(interaction.output.mask)
    _, positions = kmax(x, mask.any(2).sum(1), mask.any(1).sum(1), k)  # [B, C, K]
    ranked = ((c, at, rank) for c, row in enumerate(positions[0].tolist()) for rank, at in enumerate(row, 1))
    return [each for each in ranked if each[1] >= 0]


def _largest_cells(values: NDArray[Any]) -> Selected:
    """The cells with the largest values over all channels."""
    size = values[0].size
    ranks = dict.fromkeys(range(len(values)), 0)
    selected = []
    for at in np.argsort(-values.flatten(), kind="stable")[:MAX_CELLS].tolist():
        channel = at // size
        ranks[channel] += 1
        selected.append((channel, at % size, ranks[channel]))
    return selected


def _leave_one_cell_out(trace: Trace, interaction: LayerCall, cells: Selected) -> list[float]:
    """The score minus the score with each cell set to zero, for scores that do not change smoothly with the grid."""
    if not cells:
        return []

    def zero_one_each(x: Array) -> Array:
        R = x.shape[3]
        for row, (c, at, _) in enumerate(cells):
            x[row, c, at // R, at % R] = 0
        return x

    scores = edited_scores(trace, interaction.layer, zero_one_each, len(cells))
    return [trace.score - score for score in scores]


def _channel_names(interaction: LayerCall, channels: int) -> list[str]:
    """Names after the type of the layer: TensorLayer gives "tensor 1", "tensor 2", .."""
    layer = interaction.layer
    if isinstance(layer, CosinePerDirection):
        return ["cosine of forward states", "cosine of backward states"]
    if isinstance(layer, NgramCosine):
        sizes = range(1, layer.grams + 1)
        return [f"{a}-grams × {b}-grams" for a in sizes for b in sizes]
    kind = type(getattr(layer, "inner", layer)).__name__
    name = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in kind).strip()
    name = name.removesuffix(" layer")
    return [name] if channels == 1 else [f"{name} {c + 1}" for c in range(channels)]


def _phrases(spans: list[tuple[int, int]], words: tuple[WordSpan, ...]) -> AxisLabels:
    return tuple(AxisLabel(" ".join(word.text for word in words[a:b]), a, b) for a, b in spans)


def _tree_nodes(trees: Trees, words: int) -> list[tuple[int, int]]:
    """The words below every node of a tree, in the order of the grid's rows."""
    spans = [(t, t + 1) for t in range(words)]
    for a, b in trees.children[0].tolist():
        spans.append((spans[a][0], spans[b][1]))
    return [spans[node] for node, real in zip(trees.order[0].tolist(), trees.mask[0].tolist(), strict=True) if real]


def _phrase_levels(encoder: Phrases, words: int, count: int) -> list[tuple[int, int]]:
    """The words and the phrases of the first layer; later levels select values, so they may be about any word."""
    width = encoder.convs[0].width
    spans = [(t, t + 1) for t in range(words)]
    spans += [(max(t - width + 1, 0), min(t + 1, words)) for t in range(words + width - 1)]
    return spans[:count] + [(0, words)] * (count - len(spans))
