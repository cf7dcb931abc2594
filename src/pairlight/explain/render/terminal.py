"""Renders explanations in a terminal: shaded texts, top cells and a small heat map.

Color is never the only sign of a value: without it, words are listed with their contributions, and the heat map uses
characters of different density.
"""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from pairlight.core.terminal import printable
from pairlight.explain.data import AxisLabel, Comparison, Contributions, Explanation, GridView, TextView

SHADES = " ░▒▓█"
CIVIDIS = ((0, 34, 78), (53, 69, 108), (102, 105, 112), (148, 142, 119), (200, 184, 102), (254, 232, 56))
POSITIVE, NEGATIVE = (33, 102, 172), (217, 95, 2)  # blue and orange, which color-blind readers can distinguish
TOP = 5  # words, cells and rows of a table that are listed
MAX_ROWS = 40  # of the heat map
MAX_LABEL = 14  # width of a row label


def line(text: str = "", style: str = "") -> Text:
    """A line without control characters; its length does not change."""
    return Text(printable(text), style)


class ExplanationView:
    """A rich renderable of one explanation, as wide as the terminal."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        it, color = self.explanation, console.color_system is not None and not console.no_color
        probability = "" if it.probability is None else f", probability {it.probability:.2f}"
        yield line(f"{it.model}: score {it.score:.4f}{probability}", "bold")
        contributions = it.contributions[0] if it.contributions else None
        for name, text, values in (
            ("left", it.left, contributions.left if contributions else ()),
            ("right", it.right, contributions.right if contributions else ()),
        ):
            columns = Table.grid(padding=(0, 1))
            shaded = shade_words(text, values, _largest(contributions), color)
            columns.add_row(line(f"\n{name:6}", "dim"), line("\n") + shaded)
            if contributions is not None:
                columns.add_row("", line(_top_words(text, values), "dim"))
            yield columns
        if contributions is not None:
            yield line()
            yield line("Shades and numbers: the score minus the score without the word.", "dim")
        yield from _sections(it, options.max_width, color)
        for note in it.notes:
            yield line(f"\n{note}", "dim")


class ComparisonView:
    """A rich renderable of several right texts: the ranking, what makes the difference, and each explanation."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        it = self.comparison
        for rank, each in enumerate(it.explanations, 1):
            yield line(f"{rank:3}  {each.score:8.4f}  {each.right.text}")
        words = it.explanations[0].left.words
        for rank, differences in enumerate(it.left_differences, 2):
            top = sorted(range(len(differences)), key=lambda i: -differences[i])[:TOP]
            listed = ", ".join(f"{words[i].text} {differences[i]:+.2f}" for i in top if differences[i] > 0) or "none"
            yield line(f"\nLeft words that contribute more to 1 than to {rank}: {listed}")
        for rank, cells in enumerate(it.cell_differences, 2):
            if cells:
                yield line(f"\nCells with the largest differences between 1 and {rank}:")
            for cell in cells[:TOP]:
                grid = f"  ({cell.grid})" if len({each.grid for each in cells}) > 1 else ""
                yield line(f"     {cell.left} ↔ {cell.right} {cell.contribution:+.2f}{grid}")
        for rank, each in enumerate(it.explanations, 1):
            yield line(f"\n─── {rank} ───")
            yield ExplanationView(each)


def shade_words(text: TextView, values: Sequence[float], largest: float, color: bool) -> Text:
    """The original text, with the background of each word colored by its value."""
    shaded = line(text.text)
    for word, value in zip(text.words, values, strict=False):
        strength = abs(value) / largest if largest else 0.0
        if color and strength > 0.08:
            shaded.stylize(_background(POSITIVE if value > 0 else NEGATIVE, strength), word.start, word.end)
    return shaded


def heat_map(it: Explanation, width: int, color: bool) -> Iterable[Text]:
    """The main grid, reduced to the rows and columns with the largest values if it does not fit."""
    number = it.main_grid
    if number is None:
        return
    grid = it.grids[number]
    labels = [_shortened(label.text, MAX_LABEL) for label in grid.rows]
    margin = max(map(cell_len, labels)) + 1
    cell_width = 2 if 2 * len(grid.columns) + margin <= width else 1
    rows = _largest_indices([max(map(abs, row)) for row in grid.values], MAX_ROWS)
    column_sizes = [max(map(abs, column)) for column in zip(*grid.values, strict=True)]
    columns = _largest_indices(column_sizes, (width - margin) // cell_width)
    on_path = {cell for path in it.paths[:1] for cell in path.cells} if grid.kind == "state" else set()
    marks = {
        (cell.i, cell.j): str(cell.rank) for cell in it.cells if cell.grid == number and cell.rank < 10 and not on_path
    }
    low, high = _range(grid)
    legend = "the path is marked •" if on_path else "top cells are numbered"
    yield line(f"{grid.name}, {low:.2f} to {high:.2f}; {legend}", "bold")
    for letters in _vertical_labels([grid.columns[j] for j in columns], cell_width):
        yield line(" " * margin + letters, "dim")
    for i in rows:
        row = line(set_cell_size(labels[i], margin), "dim")
        for j in columns:
            share = (grid.values[i][j] - low) / (high - low) if high > low else 0.0
            mark = "•" if (i, j) in on_path else marks.get((i, j), "")
            row.append_text(_square(share, mark, cell_width, color))
        yield row
    if len(rows) < len(grid.rows) or len(columns) < len(grid.columns):
        yield line(f"({len(rows)} of {len(grid.rows)} rows, {len(columns)} of {len(grid.columns)} columns)", "dim")


def _sections(it: Explanation, width: int, color: bool) -> Iterable[Text]:
    if it.cells:
        yield line("\nTop cells", "bold")
        several = len([grid for grid in it.grids if grid.kind == "interaction"]) > 1
        for cell in it.cells[:TOP]:
            grid = it.grids[cell.grid]
            words = f"{grid.rows[cell.i].text} ↔ {grid.columns[cell.j].text}"
            adds = "" if cell.contribution is None else f"  adds {cell.contribution:+.3f}"
            name = f"  ({grid.name})" if several else ""
            yield line(f"{cell.rank:3}  {words} {cell.value:.2f}{adds}{name}")
    if it.main_grid is not None:
        yield line()
        yield from heat_map(it, width, color)
    for weights in it.weights:
        for text, values in ((it.left, weights.left), (it.right, weights.right)):
            if values is not None:
                top = sorted(range(len(values)), key=lambda t: -values[t])[:TOP]
                yield line(f"\n{weights.name}: " + ", ".join(f"{text.words[t].text} {values[t]:.2f}" for t in top))
    for table in it.tables:
        yield line(f"\n{table.name}", "bold")
        yield line(table.description, "dim")
        for fact in table.facts[:TOP]:
            numbers = "".join(f"  {name} {value:.3g}" for name, value in (fact.values or {}).items())
            adds = "" if fact.contribution is None else f"  adds {fact.contribution:+.3f}"
            yield line(f"     {fact.label}{adds}{numbers}")
        if len(table.facts) > TOP:
            yield line(f"     ({len(table.facts) - TOP} more rows in HTML and JSON)", "dim")
    if it.nearest:
        yield line("\nMost similar training pairs", "bold")
        for near in it.nearest:
            numbers = f"similarity {near.similarity:.2f}  label {near.label:g}  score {near.score:.2f}"
            yield line(f"     {numbers}\n       {near.left}\n       {near.right}")


def _top_words(text: TextView, values: Sequence[float]) -> str:
    """The words with the largest absolute values, in the order of the text."""
    top = sorted(range(len(values)), key=lambda t: -abs(values[t]))[:TOP]
    return ", ".join(f"{text.words[t].text} {values[t]:+.2f}" for t in sorted(top))


def _largest(contributions: Contributions | None) -> float:
    return 0.0 if contributions is None else max(map(abs, (*contributions.left, *contributions.right)), default=0.0)


def _range(grid: GridView) -> tuple[float, float]:
    values = [value for row in grid.values for value in row]
    return min(values), max(values)


def _largest_indices(sizes: Sequence[float], count: int) -> list[int]:
    return sorted(sorted(range(len(sizes)), key=lambda index: -sizes[index])[: max(count, 1)])


def _shortened(label: str, width: int) -> str:
    return label if cell_len(label) <= width else set_cell_size(label, width - 1) + "…"


def _vertical_labels(columns: Sequence[AxisLabel], cell_width: int) -> list[str]:
    """Column labels written top to bottom, up to 10 letters; a letter that is too wide becomes a question mark."""
    labels = [[letter if cell_len(letter) <= cell_width else "?" for letter in column.text[:10]] for column in columns]
    height = max(map(len, labels), default=0)
    labels = [[" "] * (height - len(label)) + label for label in labels]
    return ["".join(set_cell_size(label[row], cell_width) for label in labels) for row in range(height)]


def _square(share: float, mark: str, cell_width: int, color: bool) -> Text:
    if not color:
        shade = SHADES[min(int(share * len(SHADES)), len(SHADES) - 1)]
        return line((mark + shade * cell_width)[:cell_width])
    red, green, blue = _cividis(share)
    foreground = "black" if share > 0.5 else "white"
    return line(mark.ljust(cell_width), f"{foreground} on rgb({red},{green},{blue})")


def _cividis(share: float) -> tuple[int, ...]:
    at = min(max(share, 0.0), 1.0) * (len(CIVIDIS) - 1)
    low = min(int(at), len(CIVIDIS) - 2)
    return tuple(round(a + (b - a) * (at - low)) for a, b in zip(CIVIDIS[low], CIVIDIS[low + 1], strict=True))


def _background(color: tuple[int, int, int], strength: float) -> str:
    """From near white to the full color, with a readable foreground."""
    red, green, blue = (round(245 + (part - 245) * strength) for part in color)
    foreground = "white" if strength > 0.6 else "black"
    return f"{foreground} on rgb({red},{green},{blue})"
