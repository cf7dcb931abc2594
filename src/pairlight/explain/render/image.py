"""An explanation as a picture: the grid with the words on its axes, the cells that count numbered, the path on top."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairlight.core.errors import InputError
from pairlight.explain.data import Cell, Explanation, Grid, Span
from pairlight.explain.render.fonts import advice, emoji, fonts_for, visible
from pairlight.core.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Told apart by every eye: cividis runs from dark blue to yellow, blue and orange stand for more and less.
COLOURS, MARK, MORE, LESS = "cividis", "#d81b60", "#2166ac", "#d95f02"
# Inches: a cell, the whole grid at most, between axes, a bar at most, a bar's number, a colour bar with its numbers.
CELL, LARGEST, GAP, BAR, NUMBER, PANEL = 0.36, 11.0, 0.12, 0.8, 0.45, 1.2
WIDE, READABLE = 0.55, 0.35  # a cell with numbers in it, and the least that they can be read in
_SMALL: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8, "color": "#333333", "annotation_clip": False}
LABEL = 26  # letters of a label, at most
NUMBERED = 10  # cells at most


def picture(explanation: Explanation, path: Path, *, grid: int | None = None) -> None:
    """Draw one grid of an explanation (by default what is to be looked at first) to a PNG or SVG file."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise InputError("A picture needs matplotlib: pip install 'pairlight[plots]'.") from None

    at = explanation.shown if grid is None else grid
    if at is None:
        raise InputError(f"{explanation.model} makes no grid to draw: look at the terminal's lines or at --html.")
    if not 0 <= at < len(explanation.grids):
        raise InputError(f"There is no grid {at + 1}: this explanation has {len(explanation.grids)}.")
    form = path.suffix.lstrip(".")
    if form not in ("png", "svg"):
        raise InputError(f"{path} does not end in .png or .svg: name it so.")
    families, missing = fonts_for("".join(span.label for span in _spans(explanation.grids[at])))
    # Letters of an SVG stay letters, which the viewer finds a font for; a fixed salt gives the same file every time.
    style: dict[Any, Any] = {
        "font.family": families,
        "svg.fonttype": "none",
        "svg.hashsalt": "pairlight",
        "axes.unicode_minus": False,
        "text.parse_math": False,
    }
    with rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        letters = missing if form == "png" else frozenset()
        if grid is None and counts_lcs(explanation):
            figure = figure_4(explanation, letters)
        else:
            figure = drawn(explanation, at, letters, both=grid is None)
        with atomic_write(path) as file:
            figure.savefig(
                file,
                format=form,
                dpi=200,
                bbox_inches="tight",
                pad_inches=0.15,
                metadata={"Date": None} if form == "svg" else {"Software": None},
            )


def drawn(it: Explanation, at: int, missing: frozenset[str] = frozenset(), *, both: bool = False) -> "Figure":
    """The figure: the grid; beside and below it what each word adds; letters that no font has are left to a note.

    With `both`, a state that was scanned both ways is drawn both ways, side by side.
    """
    from matplotlib.figure import Figure

    grid = it.grids[at]
    twin = [other for other in it.grids if other.kind == "state" and other is not grid]
    grids = [grid, *twin] if both and grid.kind == "state" else [grid]
    L, R = len(grid.rows), len(grid.columns)
    cell = min(CELL, LARGEST / max(L, R))
    width, height = R * cell, L * cell
    letters = min(11.0, 44 * cell)  # points
    figure = Figure(figsize=(width, height))
    unseen: set[str] = set()
    for number, each in enumerate(grids):
        left = number * (1 + PANEL / width)
        axes = figure.add_axes((left, 0, 1, 1))
        image = axes.imshow(each.values, cmap=COLOURS, aspect="auto", interpolation="nearest")
        unseen |= _words_on(axes, each, letters, missing, rows=number == 0)
        if cell > 0.15:
            axes.set_xticks([j - 0.5 for j in range(1, R)], minor=True)
            axes.set_yticks([i - 0.5 for i in range(1, L)], minor=True)
            axes.grid(which="minor", color="white", linewidth=0.6)
        if each.kind == "state":
            _path(axes, it, each.name)
        else:
            _mark(axes, [found for found in it.cells if it.grids[found.grid] is each][:NUMBERED], letters)
        beside = _bars(figure, it, each, width, height) if len(grids) == 1 else 0.0
        bar = figure.add_axes((left + 1 + (beside + 2 * GAP) / width, 0, 0.16 / width, 1))
        figure.colorbar(image, cax=bar).set_label(_unit(each), fontsize=10)
        bar.tick_params(labelsize=9, length=2)
        bar.spines[:].set_visible(False)
    below = -(2 * GAP + (BAR if beside else 0)) / height
    _note(figure, below, _caption(it, at, bool(beside), unseen))
    return figure


def counts_lcs(it: Explanation) -> bool:
    """Whether this is Match-SRNN in the form that can count a longest common subsequence: one number a state."""
    return it.grids[:1] != () and it.grids[0].name == "indicator" and any(_alone(grid) for grid in it.grids)


def figure_4(it: Explanation, missing: frozenset[str] = frozenset()) -> "Figure":
    """The layout of figure 4 of the Match-SRNN paper: the table of dynamic programming, the states, the gates."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    from pairlight.explain.mechanisms import backtraced
    from pairlight.datasets.lcs import table

    state = next(grid for grid in it.grids if _alone(grid))
    gates = [grid.values for grid in it.grids if grid.kind == "gate"][:4]  # diagonal, above, before, new
    L, R = len(state.rows), len(state.columns)
    counted = table([row.label for row in state.rows], [column.label for column in state.columns])
    diagonal = [[gates[0][i][j] + gates[3][i][j] for j in range(R)] for i in range(L)]
    same = [(i, j) for i, row in enumerate(it.grids[0].values) for j, value in enumerate(row) if value > 0]
    # Along a match where there is one, else up before left, as long as the count stays the same.
    ways = [[[2.0 * ((i, j) in same), float(counted[i, j + 1] == counted[i + 1, j + 1]), 0.5] for j in range(R)]
            for i in range(L)]  # fmt: skip
    path = next(each for each in it.paths if state.name.startswith(each.name)).cells
    cell = min(WIDE, LARGEST / max(L, R))
    figure = Figure(figsize=(R * cell, L * cell))
    panels: list[tuple[str, Any, str, Any]] = [
        ("(a) the table", counted[1:, 1:], "{:.0f}", backtraced(ways)),
        ("(b) the states", state.values, "{:.2f}", path),
        ("(c) the gates", diagonal, "{:.1f}", path),
    ]
    for number, (title, values, form, way) in enumerate(panels):
        axes = figure.add_axes((number * (1 + 0.25 / (R * cell)), 0, 1, 1))
        axes.imshow(values, cmap=COLOURS, aspect="auto", interpolation="nearest")
        axes.set_title(title, fontsize=11, pad=14)
        unseen = _words_on(axes, state, 11, missing, rows=number == 0)
        low, high = axes.images[0].get_clim()
        for i in range(L):
            for j in range(R) if cell >= READABLE else ():
                ink = "black" if values[i][j] - low > 0.45 * (high - low) else "white"
                middle: dict[str, Any] = {"ha": "center", "va": "center_baseline", "color": ink}
                if number < 2:
                    bold = "bold" if number == 0 and (i, j) in same else "normal"
                    axes.text(j, i, form.format(values[i][j]), fontsize=20 * cell, weight=bold, **middle)
                else:  # each gate stands on the side of the neighbour it lets in
                    for x, y, gate in ((-0.22, -0.22, diagonal), (0.22, -0.22, gates[1]), (-0.22, 0.24, gates[2])):
                        axes.text(j + x, i + y, form.format(gate[i][j]), fontsize=13 * cell, **middle)
        for i, j in way:
            axes.add_patch(Rectangle((j - 0.44, i - 0.44), 0.88, 0.88, fill=False, edgecolor=MARK, linewidth=2.5))
    _note(figure, -2 * GAP / (L * cell), [
        f"{it.model}: score {it.score:.3g}; the longest common subsequence has {counted[-1, -1]} words",
        "(a) counts by dynamic programming; bold: the same word twice; framed: its path",
        "(b) what the model made of each cell, and (c) how open its gates are: diagonal with new, above, before",
        "framed in (b) and (c): the path along the largest gate, back from the last cell",
        *([advice(unseen)] if unseen else []),
    ])  # fmt: skip
    return figure


def _alone(grid: Grid) -> bool:
    """Whether a state is a single number: then no dimension had to be chosen."""
    return grid.kind == "state" and "dimension" not in grid.name


def _note(figure: "Figure", below: float, lines: Sequence[str]) -> None:
    """How to read the picture, below it."""
    axes = figure.axes[0]
    place: dict[str, Any] = {"transform": axes.transAxes, "va": "top", "linespacing": 1.4}
    axes.text(0, below, "\n".join(lines), fontsize=9.5, color="#333333", **place)


def _caption(it: Explanation, at: int, bars: bool, missing: set[str]) -> list[str]:
    lines = [f"{it.model}: score {it.score:.3g}"]
    if it.grids[at].kind == "state":
        lines.append("brightness: the state's dimension with the largest weight (below zero: the darker, the better)")
        lines.append("line: the way the match was built, traced back along the largest gate")
    elif any(cell.grid == at for cell in it.cells):
        lines.append("numbered: the cells that count most, in the model's order")
    if bars:
        lines.append("bars: how far the score falls when the word is left out (orange: it rises)")
    if missing:
        lines.append(advice(missing))
    return lines


def _words_on(axes: "Axes", grid: Grid, letters: float, missing: frozenset[str], *, rows: bool = True) -> set[str]:
    """The words on the axes; emoji that no font draws go there as images. Gives the letters that could not be drawn."""
    unseen: set[str] = set()
    axes.xaxis.tick_top()
    for down, spans in ((True, grid.rows if rows else ()), (False, grid.columns)):
        labels = []
        for place, span in enumerate(spans):
            lacking = missing & set(span.label)
            image = emoji(span.label) if lacking and len(span.label) == 1 else None
            if image is None:
                unseen |= lacking
                labels.append(_label(span, missing))
            else:
                labels.append("")
                _put(axes, image, place, letters, down=down)
        (axes.set_yticks if down else axes.set_xticks)(range(len(labels)), labels, fontsize=letters)
    for label in axes.get_xticklabels():
        if len(label.get_text()) > 1:  # a single letter stands upright
            label.set(rotation=55, ha="left", rotation_mode="anchor")
    axes.tick_params(which="both", length=0, pad=4)
    axes.spines[:].set_visible(False)
    return unseen


def _put(axes: "Axes", image: Any, place: float, letters: float, *, down: bool) -> None:
    """An image in the place of a word."""
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    box = OffsetImage(image, zoom=letters * 1.25 / image.shape[0])
    at, ends, away = ((0, place), axes.get_yaxis_transform(), (-4, 0)) if down else (
        (place, 1), axes.get_xaxis_transform(), (0, 4))  # fmt: skip
    axes.add_artist(
        AnnotationBbox(
            box,
            at,
            xycoords=ends,
            xybox=away,
            boxcoords="offset points",
            box_alignment=(1, 0.5) if down else (0.5, 0),
            frameon=False,
            pad=0,
            annotation_clip=False,
        )
    )


def _mark(axes: "Axes", cells: Sequence[Cell], letters: float) -> None:
    """The cells that count, framed and numbered in the model's order."""
    from matplotlib.patches import Rectangle

    low, high = axes.images[0].get_clim()
    for cell in cells:
        frame = Rectangle(
            (cell.j - 0.5, cell.i - 0.5), 1, 1, fill=False, edgecolor=MARK, linewidth=letters / 4, zorder=3
        )
        axes.add_patch(frame).set_clip_on(False)
        ink = "black" if (cell.value - low) > 0.45 * (high - low) else "white"
        axes.text(
            cell.j,
            cell.i,
            str(cell.order),
            ha="center",
            va="center_baseline",
            fontsize=letters,
            weight="bold",
            color=ink,
        )


def _path(axes: "Axes", it: Explanation, name: str) -> None:
    from matplotlib import patheffects

    for path in (path for path in it.paths if name.startswith(path.name)):
        (line,) = axes.plot([j for _, j in path.cells], [i for i, _ in path.cells], color=MARK, linewidth=2.5)
        line.set_path_effects([patheffects.Stroke(linewidth=4.5, foreground="white"), patheffects.Normal()])
        line.set_solid_joinstyle("round")


def _bars(figure: "Figure", it: Explanation, grid: Grid, width: float, height: float) -> float:
    """What leaving each word out takes from the score, beside its row and below its column; how wide that is."""
    if not it.contributions or len(grid.rows) != len(it.left.words) or len(grid.columns) != len(it.right.words):
        return 0.0
    adds = it.contributions[0]
    most = max(map(abs, (*adds.left, *adds.right))) or 1.0
    beside = figure.add_axes((1 + GAP / width, 0, BAR / width, 1))
    below = figure.add_axes((0, -(GAP + BAR) / height, 1, BAR / height))
    beside.barh(range(len(adds.left)), adds.left, color=_colours(adds.left), height=0.7)
    below.bar(range(len(adds.right)), adds.right, color=_colours(adds.right), width=0.7)
    least = min(0.0, *adds.left, *adds.right)
    top = max(0.0, *adds.left, *adds.right)
    beside.set(xlim=(least - 0.03 * most, top + 0.03 * most), ylim=(len(adds.left) - 0.5, -0.5))
    below.set(ylim=(least - 0.03 * most, top + 0.03 * most), xlim=(-0.5, len(adds.right) - 0.5))
    beside.axvline(0, color="#888888", linewidth=0.8)
    below.axhline(0, color="#888888", linewidth=0.8)
    i, j = (max(range(len(side)), key=lambda t: abs(side[t])) for side in (adds.left, adds.right))
    beside.annotate(f"{adds.left[i]:+.2g}", (max(adds.left[i], 0), i), (2, 0), **_SMALL, va="center")
    below.annotate(f"{adds.right[j]:+.2g}", (j, max(adds.right[j], 0)), (0, 2), **_SMALL, ha="center")
    for axes in (beside, below):
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    return GAP + BAR + NUMBER


def _colours(values: Sequence[float]) -> list[str]:
    return [MORE if value > 0 else LESS for value in values]


def _unit(grid: Grid) -> str:
    units = {"gate": "share of the state", "attention": "share of the attention", "state": "value of the state"}
    return f"{grid.name}: {units.get(grid.kind, 'value of the cell')}"


def _label(span: Span, missing: frozenset[str]) -> str:
    """A label that can be drawn: letters without a font become an empty frame."""
    label = "".join("□" if letter in missing else letter for letter in visible(span.label))
    return label if len(label) <= LABEL else label[: LABEL - 1] + "…"


def _spans(grid: Grid) -> tuple[Span, ...]:
    return grid.rows + grid.columns
