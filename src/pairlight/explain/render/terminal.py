"""An explanation in a terminal: both texts shaded by what their words add, the cells that count, a small heat map.

Colour is never the only sign: without it, words carry their numbers and the heat map is drawn in shades of grey.
"""

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from pairlight.explain.data import Comparison, Contributions, Explanation, Grid, Side, Span

SHADES = " ░▒▓█"
CIVIDIS = ((0, 34, 78), (53, 69, 108), (102, 105, 112), (148, 142, 119), (200, 184, 102), (254, 232, 56))
ADDS, TAKES = (33, 102, 172), (217, 95, 2)  # blue and orange: told apart by every eye
MARKED = 5  # words that are named on either side
ROWS = 40  # of a heat map, at most
LABEL = 14  # width of a row's label, at most

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and line end


def line(text: str = "", style: str = "") -> Text:
    """A line of the same length that commands nothing: a terminal would obey the control characters of a text."""
    return Text(_CONTROL.sub(" ", text), style)


class Shown:
    """One explanation, as wide as the terminal."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        it, coloured = self.explanation, console.color_system is not None and not console.no_color
        chance = "" if it.probability is None else f", probability {it.probability:.2f}"
        yield line(f"{it.model}: score {it.score:.4f}{chance}", "bold")
        adds = it.contributions[0] if it.contributions else None
        for name, side, values in (
            ("left", it.left, adds.left if adds else ()),
            ("right", it.right, adds.right if adds else ()),
        ):
            beside = Table.grid(padding=(0, 1))
            beside.add_row(line(f"\n{name:6}", "dim"), line("\n") + shaded(side, values, _largest(adds), coloured))
            if adds is not None:
                beside.add_row("", line(_named(side, values), "dim"))
            yield beside
        if adds is not None:
            yield line()
            yield line("Shade and numbers: how far the score falls when the word is left out.", "dim")
        yield from _sections(it, options.max_width, coloured)
        for note in it.notes:
            yield line(f"\n{note}", "dim")


class Ranked:
    """Several right texts beside each other: the ranking, what makes the difference, then each by itself."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        it = self.comparison
        for rank, each in enumerate(it.explanations, 1):
            yield line(f"{rank:3}  {each.score:8.4f}  {each.right.text}")
        words = it.explanations[0].left.words
        for rank, less in enumerate(it.left, 2):
            best = sorted(range(len(less)), key=lambda i: -less[i])[:MARKED]
            why = ", ".join(f"{words[i].text} {less[i]:+.2f}" for i in best if less[i] > 0) or "none"
            yield line(f"\nLeft words that do more for 1 than for {rank}: {why}")
        for rank, apart in enumerate(it.cells, 2):
            if apart:
                yield line(f"\nCells that make the difference between 1 and {rank}:")
            for gap in apart[:MARKED]:
                name = f"  ({gap.grid})" if len({cell.grid for cell in apart}) > 1 else ""
                yield line(f"     {gap.left} ↔ {gap.right} {gap.adds:+.2f}{name}")
        for rank, each in enumerate(it.explanations, 1):
            yield line(f"\n─── {rank} ───")
            yield Shown(each)


def shaded(side: Side, values: Sequence[float], largest: float, coloured: bool) -> Text:
    """A text as it was written, each word on a ground as strong as what it adds, where there is colour."""
    text = line(side.text)
    for word, value in zip(side.words, values, strict=False):
        strength = abs(value) / largest if largest else 0.0
        if coloured and strength > 0.08:
            text.stylize(_ground(ADDS if value > 0 else TAKES, strength), word.start, word.end)
    return text


def heat_map(it: Explanation, width: int, coloured: bool) -> Iterable[Text]:
    """A grid as wide as fits: the rows and columns with the largest values where not all of them do."""
    at = it.shown
    if at is None:
        return
    grid = it.grids[at]
    labels = [_clipped(span.label, LABEL) for span in grid.rows]
    margin = max(map(cell_len, labels)) + 1
    wide = 2 if 2 * len(grid.columns) + margin <= width else 1
    rows = _kept([max(map(abs, row)) for row in grid.values], ROWS)
    columns = _kept([max(map(abs, column)) for column in zip(*grid.values, strict=True)], (width - margin) // wide)
    on_path = {cell for path in it.paths[:1] for cell in path.cells} if grid.kind == "state" else set()
    marks = {
        (cell.i, cell.j): str(cell.order) for cell in it.cells if cell.grid == at and cell.order < 10 and not on_path
    }
    low, high = _range(grid)
    yield line(f"{grid.name}, {low:.2f} to {high:.2f}" + ("; path marked •" if on_path else "; cells numbered"), "bold")
    for letters in _upright([grid.columns[j] for j in columns], wide):
        yield line(" " * margin + letters, "dim")
    for i in rows:
        row = line(set_cell_size(labels[i], margin), "dim")
        for j in columns:
            share = (grid.values[i][j] - low) / (high - low) if high > low else 0.0
            mark = "•" if (i, j) in on_path else marks.get((i, j), "")
            row.append_text(_square(share, mark, wide, coloured))
        yield row
    hidden = len(grid.rows) * len(grid.columns) - len(rows) * len(columns)
    if hidden:
        yield line(f"({len(rows)} of {len(grid.rows)} rows, {len(columns)} of {len(grid.columns)} columns)", "dim")


def _sections(it: Explanation, width: int, coloured: bool) -> Iterable[Text]:
    if it.cells:
        yield line("\nCells that count", "bold")
        for cell in it.cells[:MARKED]:
            grid = it.grids[cell.grid]
            pair = f"{grid.rows[cell.i].label} ↔ {grid.columns[cell.j].label}"
            adds = "" if cell.adds is None else f"  adds {cell.adds:+.3f}"
            name = f"  ({grid.name})" if cell.grid or len([g for g in it.grids if g.kind == "interaction"]) > 1 else ""
            yield line(f"{cell.order:3}  {pair} {cell.value:.2f}{adds}{name}")
    if it.shown is not None:
        yield line()
        yield from heat_map(it, width, coloured)
    for weights in it.weights:
        for side, values in ((it.left, weights.left), (it.right, weights.right)):
            if values is not None:
                best = sorted(range(len(values)), key=lambda t: -values[t])[:MARKED]
                yield line(f"\n{weights.name}: " + ", ".join(f"{side.words[t].text} {values[t]:.2f}" for t in best))
    for table in it.tables:
        yield line(f"\n{table.name}", "bold")
        yield line(table.about, "dim")
        for fact in table.facts[:MARKED]:
            numbers = "".join(f"  {name} {value:.3g}" for name, value in (fact.values or {}).items())
            adds = "" if fact.adds is None else f"  adds {fact.adds:+.3f}"
            yield line(f"     {fact.label}{adds}{numbers}")
        if len(table.facts) > MARKED:
            yield line(f"     ({len(table.facts) - MARKED} more lines in the page and in JSON)", "dim")
    if it.nearest:
        yield line("\nTraining pairs most like this one", "bold")
        for near in it.nearest:
            numbers = f"like {near.likeness:.2f}  label {near.label:g}  score {near.score:.2f}"
            yield line(f"     {numbers}\n       {near.left}\n       {near.right}")


def _named(side: Side, values: Sequence[float]) -> str:
    """The words that count most, with their numbers, in the order of the text."""
    best = sorted(range(len(values)), key=lambda t: -abs(values[t]))[:MARKED]
    return ", ".join(f"{side.words[t].text} {values[t]:+.2f}" for t in sorted(best))


def _largest(adds: Contributions | None) -> float:
    return 0.0 if adds is None else max(map(abs, (*adds.left, *adds.right)), default=0.0)


def _range(grid: Grid) -> tuple[float, float]:
    values = [value for row in grid.values for value in row]
    return min(values), max(values)


def _kept(weight: Sequence[float], most: int) -> list[int]:
    best = sorted(range(len(weight)), key=lambda place: -weight[place])[: max(most, 1)]
    return sorted(best)


def _clipped(label: str, width: int) -> str:
    return label if cell_len(label) <= width else set_cell_size(label, width - 1) + "…"


def _upright(columns: Sequence[Span], wide: int) -> list[str]:
    """Column labels written downwards, at most so many letters; a letter of double width needs a column of two."""
    labels = [[letter if cell_len(letter) <= wide else "?" for letter in column.label[:10]] for column in columns]
    deep = max(map(len, labels), default=0)
    labels = [[" "] * (deep - len(label)) + label for label in labels]
    return ["".join(set_cell_size(label[line], wide) for label in labels) for line in range(deep)]


def _square(share: float, mark: str, wide: int, coloured: bool) -> Text:
    if not coloured:
        shade = SHADES[min(int(share * len(SHADES)), len(SHADES) - 1)]
        return line((mark + shade * wide)[:wide])
    red, green, blue = _cividis(share)
    ink = "black" if share > 0.5 else "white"
    return line(mark.ljust(wide), f"{ink} on rgb({red},{green},{blue})")


def _cividis(share: float) -> tuple[int, ...]:
    at = min(max(share, 0.0), 1.0) * (len(CIVIDIS) - 1)
    low = min(int(at), len(CIVIDIS) - 2)
    return tuple(round(a + (b - a) * (at - low)) for a, b in zip(CIVIDIS[low], CIVIDIS[low + 1], strict=True))


def _ground(colour: tuple[int, int, int], strength: float) -> str:
    """From near white to the colour itself, with ink that can be read on it."""
    red, green, blue = (round(245 + (part - 245) * strength) for part in colour)
    ink = "white" if strength > 0.6 else "black"
    return f"{ink} on rgb({red},{green},{blue})"
