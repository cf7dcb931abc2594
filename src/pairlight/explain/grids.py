"""Where positions of two texts meet: the grids a model makes, what their rows stand for, and the cells that count."""

from torch import Tensor

from pairlight.explain.data import Cell, Grid, GridKind, Span, Word
from pairlight.explain.trace import Call, Integrated, Run, changed, integrated
from pairlight.kernels import kmax
from pairlight.models.arc_ii import SegmentPairs
from pairlight.layers.topk import KMax
from pairlight.layers.tree_autoencoder import TreeAutoencoder
from pairlight.layers.ngrams import GramCosine
from pairlight.layers.interactions import CosinePerDirection
from pairlight.layers.phrases import Phrases
from pairlight.layers.trees import Trees

STRONGEST = 12  # cells that are told where the model itself keeps no certain number
Spans = tuple[Span, ...]


def channels_of(seen: Run, met: Call, left: tuple[Word, ...], right: tuple[Word, ...]) -> tuple[Grid, ...]:
    """Every channel of the interaction, with the words its rows and columns stand for."""
    rows, columns = spans(seen, met, 0, left), spans(seen, met, 1, right)
    x = met.output.x[0]
    return tuple(
        grid(name, "interaction", rows, columns, each) for name, each in zip(_names(met, len(x)), x, strict=True)
    )


def grid(name: str, kind: GridKind, rows: Spans, columns: Spans, values: Tensor) -> Grid:
    return Grid(name, kind, rows, columns, tuple(map(tuple, values[: len(rows), : len(columns)].tolist())))


def spans(seen: Run, met: Call, side: int, words: tuple[Word, ...]) -> Spans:
    """What each row (side 0) or column (side 1) of a grid stands for."""
    count = met.output.x.shape[2 + side]
    if isinstance(met.module, SegmentPairs):
        half = (met.module.left, met.module.right)[side]
        return _named([(2 * t, min(2 * t + half.length - half.whole + 2, len(words))) for t in range(count)], words)
    for call in seen.calls:
        # A row belongs to the encoder that gave the sequence which the interaction was given.
        if side < len(met.args) and call.output is met.args[side]:
            if isinstance(call.module, TreeAutoencoder):
                return _named(_nodes(seen.trees[side], len(words)), words)
            if isinstance(call.module, Phrases):
                return _named(_levels(call.module, len(words), count), words)
    if count == len(words):
        return _named([(t, t + 1) for t in range(count)], words)
    return tuple(Span(f"#{t + 1}", 0, 0) for t in range(count))


def by_word(rows: Spans) -> bool:
    """Whether every row is one word."""
    return all(row.end == row.first + 1 == t + 1 for t, row in enumerate(rows))


def strongest(seen: Run, met: Call, weigh: bool) -> tuple[tuple[Cell, ...], Integrated | None]:
    """The cells the model keeps, or those that add most, each with its part of score - score of a grid of zeros.

    Where the model keeps none by itself, and `weigh` is off, those with the largest values, not weighed.
    """
    x = met.output.x[0]  # [C, L, R]
    kept = next((part for part, call in seen.of(KMax) if call.args[0] is met.output), None)
    weigh = weigh or kept is not None
    found = integrated(seen, [met.module]) if weigh else None
    adds = found.parts[0].adds if found is not None and found.adds_up and len(found.parts) == 1 else None
    if kept is not None:
        _, places = kmax(met.output.x, *_lengths(met.output.mask), kept.k)
        chosen = [(c, place, order) for c, row in enumerate(places[0].tolist()) for order, place in enumerate(row, 1)]
        chosen = [each for each in chosen if each[1] >= 0]
    else:
        flat = (x if adds is None else adds).flatten()
        best = (flat if adds is None else flat.abs()).topk(min(STRONGEST, len(flat))).indices.tolist()
        size = x[0].numel()
        order = dict.fromkeys(range(len(x)), 0)
        chosen = []
        for at in best:
            order[at // size] += 1
            chosen.append((at // size, at % size, order[at // size]))
    each_adds: list[float] | list[None]
    if not weigh:
        each_adds, whole = [None] * len(chosen), 0.0
    elif adds is None:
        each_adds = _without(seen, met, chosen)
        whole = sum(map(abs, each_adds))
    else:
        each_adds, whole = [float(adds[c].flatten()[at]) for c, at, _ in chosen], float(adds.abs().sum())
    R = x.shape[2]
    cells = [
        Cell(c, at // R, at % R, float(x[c].flatten()[at]), order, add, add / whole if add and whole else add)
        for (c, at, order), add in zip(chosen, each_adds, strict=True)
    ]
    # What a model keeps stays in its own order; elsewhere what adds most comes first.
    cells.sort(key=lambda cell: (0 if kept is None else cell.order, -abs(cell.adds or 0), -cell.value, cell.grid))
    return tuple(cells), found


def _without(seen: Run, met: Call, cells: list[tuple[int, int, int]]) -> list[float]:
    """The score minus that with each of these cells at zero, where a grid as a whole can't be led there smoothly."""
    if not cells:
        return []

    def change(x: Tensor) -> Tensor:
        R = x.shape[3]
        for row, (c, at, _) in enumerate(cells):
            x[row, c, at // R, at % R] = 0
        return x

    scores = changed(seen, met.module, change, len(cells))
    return [seen.score - score for score in scores.tolist()]


def _names(met: Call, channels: int) -> list[str]:
    """Names of the channels, after the part that made them."""
    module = met.module
    if isinstance(module, CosinePerDirection):
        return ["cosine of forward states", "cosine of backward states"]
    if isinstance(module, GramCosine):
        numbers = range(1, module.grams + 1)
        return [f"phrases of {a} × phrases of {b}" for a in numbers for b in numbers]
    inner = getattr(module, "inner", module)
    name = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in type(inner).__name__).strip()
    name = name.removesuffix(" layer")
    return [name] if channels == 1 else [f"{name} {c + 1}" for c in range(channels)]


def _named(places: list[tuple[int, int]], words: tuple[Word, ...]) -> Spans:
    return tuple(Span(" ".join(word.text for word in words[a:b]), a, b) for a, b in places)


def _nodes(trees: Trees, words: int) -> list[tuple[int, int]]:
    """The words below every node of a text's tree, in the order of the grid's rows."""
    under = [(t, t + 1) for t in range(words)]
    for a, b in trees.children[0].tolist():
        under.append((under[a][0], under[b][1]))
    return [under[node] for node, there in zip(trees.order[0].tolist(), trees.mask[0].tolist(), strict=True) if there]


def _levels(encode: Phrases, words: int, count: int) -> list[tuple[int, int]]:
    """The words, the phrases of the first layer; of what a pooling has chosen no certain words can be named."""
    width = encode.convs[0].width if isinstance(encode.convs[0].width, int) else 1
    found = [(t, t + 1) for t in range(words)]
    found += [(max(t - width + 1, 0), min(t + 1, words)) for t in range(words + width - 1)]
    return found[:count] + [(0, words)] * (count - len(found))


def _lengths(mask: Tensor) -> tuple[Tensor, Tensor]:
    return mask.any(2).sum(1), mask.any(1).sum(1)
