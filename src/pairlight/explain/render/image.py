"""Draws explanations as PNG or SVG: a grid with its words, the top cells numbered, the gate path on top."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write
from pairlight.datasets.lcs import lcs_table
from pairlight.explain.backtrace import lcs_path
from pairlight.explain.data import Explanation, GridView, TopCell
from pairlight.explain.render.fonts import emoji, fonts_for, missing_fonts_note, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Safe for color-blind readers: cividis runs from dark blue to yellow; blue and orange are positive and negative.
COLORMAP, MARK, POSITIVE, NEGATIVE = "cividis", "#d81b60", "#2166ac", "#d95f02"
# Sizes in inches.
CELL, MAX_GRID = 0.36, 11.0  # a cell, and the largest side of a grid
GAP, BAR, BAR_LABEL, COLOR_BAR = 0.12, 0.8, 0.45, 1.2  # between axes; bars of words, their label; a color bar
VALUE_CELL, MIN_VALUE_CELL = 0.55, 0.35  # a cell with values in it, and the smallest in which they are readable
MAX_LABEL = 26  # letters
MAX_NUMBERED = 10  # cells

Matrix = Sequence[Sequence[float]]
_SMALL: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8, "color": "#333333", "annotation_clip": False}


@dataclass(frozen=True)
class LcsExample:
    """What figure 4 of the Match-SRNN paper shows of a pair of sequences: states and gates of a scalar spatial GRU."""

    left: Sequence[str]
    right: Sequence[str]
    states: Matrix  # [L][R]
    gates: Sequence[Matrix]  # [L][R][4]: diagonal, previous row, previous column, new state; or [L][R][3] without it
    path: Sequence[tuple[int, int]]  # the cells of `backtrace`


def draw_explanation(explanation: Explanation, path: Path, *, grid: int | None = None) -> None:
    """Draw the main grid of an explanation, or the one with this index, to a PNG or SVG file."""
    number = explanation.main_grid if grid is None else grid
    if number is None:
        raise InputError(f"{explanation.model} has no grid to draw: use the terminal output or an HTML page.")
    count = len(explanation.grids)
    if not 0 <= number < count:
        rule = f"this explanation has {count} grids, so choose 1 to {count}" if count > 1 else "there is only grid 1"
        raise InputError(f"There is no grid {number + 1}: {rule}.", option="grid")
    labels = [label.text for label in (*explanation.grids[number].rows, *explanation.grids[number].columns)]
    example = None if grid is not None else lcs_example(explanation)
    if example is None:
        _draw(path, labels, lambda missing: grid_figure(explanation, number, missing, both=grid is None))
    else:
        caption = [f"{explanation.model}: score {explanation.score:.3g}"]
        _draw(path, labels, lambda missing: lcs_figure(example, caption, missing))


def draw_lcs_figure(path: Path, example: LcsExample, caption: Sequence[str] = ()) -> None:
    """Draw figure 4 of the Match-SRNN paper to a PNG or SVG file, with these lines above its legend."""
    _draw(path, [*example.left, *example.right], lambda missing: lcs_figure(example, caption, missing))


def grid_figure(it: Explanation, number: int, missing: frozenset[str] = frozenset(), *, both: bool = False) -> "Figure":
    """A grid, with the contribution of each word next to its row or below its column.

    `missing` are characters that no font has. With `both`, the states of both directions are drawn side by side.
    """
    from matplotlib.figure import Figure

    grid = it.grids[number]
    others = [other for other in it.grids if other.kind == "state" and other is not grid]
    grids = [grid, *others] if both and grid.kind == "state" else [grid]
    L, R = len(grid.rows), len(grid.columns)
    cell = min(CELL, MAX_GRID / max(L, R))
    width, height = R * cell, L * cell
    font_size = min(11.0, 44 * cell)
    figure = Figure(figsize=(width, height))
    undrawn: set[str] = set()
    for panel, each in enumerate(grids):
        left = panel * (1 + COLOR_BAR / width)
        axes = figure.add_axes((left, 0, 1, 1))
        image = axes.imshow(each.values, cmap=COLORMAP, aspect="auto", interpolation="nearest")
        rows = [label.text for label in each.rows] if panel == 0 else []
        undrawn |= _label_axes(axes, rows, [label.text for label in each.columns], font_size, missing)
        if cell > 0.15:
            axes.set_xticks([j - 0.5 for j in range(1, R)], minor=True)
            axes.set_yticks([i - 0.5 for i in range(1, L)], minor=True)
            axes.grid(which="minor", color="white", linewidth=0.6)
        if each.kind == "state":
            _draw_path(axes, it, each.name)
        else:
            _number_cells(axes, [top for top in it.cells if it.grids[top.grid] is each][:MAX_NUMBERED], font_size)
        bars = _draw_bars(figure, it, each, width, height) if len(grids) == 1 else 0.0
        color_bar = figure.add_axes((left + 1 + (bars + 2 * GAP) / width, 0, 0.16 / width, 1))
        figure.colorbar(image, cax=color_bar).set_label(_color_label(each), fontsize=10)
        color_bar.tick_params(labelsize=9, length=2)
        color_bar.spines[:].set_visible(False)
    _draw_caption(figure, -(2 * GAP + (BAR if bars else 0)) / height, _caption(it, number, bool(bars), undrawn))
    return figure


def lcs_example(it: Explanation) -> LcsExample | None:
    """What figure 4 shows, if the model is a Match-SRNN that can count a longest common subsequence; otherwise None.

    Such a model has the interaction "indicator" and a state of one dimension.
    """
    state = next((grid for grid in it.grids if grid.kind == "state" and "dimension" not in grid.name), None)
    if state is None or it.grids[0].name != "indicator":
        return None
    gates = [grid.values for grid in it.grids if grid.kind == "gate"][:4]
    path = next(each for each in it.paths if state.name.startswith(each.name)).cells
    L, R = len(state.rows), len(state.columns)
    return LcsExample(
        [label.text for label in state.rows],
        [label.text for label in state.columns],
        state.values,
        [[[gate[i][j] for gate in gates] for j in range(R)] for i in range(L)],
        path,
    )


def lcs_figure(example: LcsExample, caption: Sequence[str] = (), missing: frozenset[str] = frozenset()) -> "Figure":
    """Figure 4 of the Match-SRNN paper: the dynamic programming table, the states and the gates, with their paths."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    left, right = list(example.left), list(example.right)
    L, R = len(left), len(right)
    table = lcs_table(left, right)
    diagonal = [[gates[0] + sum(gates[3:]) for gates in row] for row in example.gates]
    name = "diagonal and new state" if len(example.gates[0][0]) == 4 else "diagonal"
    panels: list[tuple[str, Any, str, Sequence[tuple[int, int]]]] = [
        ("(a) dynamic programming", table[1:, 1:], "{:.0f}", lcs_path(left, right)),
        ("(b) states", example.states, "{:.2f}", example.path),
        ("(c) gates", diagonal, "{:.1f}", example.path),
    ]
    cell = min(VALUE_CELL, MAX_GRID / max(L, R))
    figure = Figure(figsize=(R * cell, L * cell))
    undrawn: set[str] = set()
    for number, (title, values, form, path) in enumerate(panels):
        axes = figure.add_axes((number * (1 + 0.25 / (R * cell)), 0, 1, 1))
        axes.imshow(values, cmap=COLORMAP, aspect="auto", interpolation="nearest")
        axes.set_title(title, fontsize=11, pad=14)
        undrawn |= _label_axes(axes, left if number == 0 else [], right, 11, missing)
        low, high = axes.images[0].get_clim()
        for i in range(L):
            for j in range(R) if cell >= MIN_VALUE_CELL else ():
                ink = "black" if values[i][j] - low > 0.45 * (high - low) else "white"
                style: dict[str, Any] = {"ha": "center", "va": "center_baseline", "color": ink}
                if number < 2:
                    weight = "bold" if number == 0 and left[i] == right[j] else "normal"
                    axes.text(j, i, form.format(values[i][j]), fontsize=20 * cell, weight=weight, **style)
                    continue
                above, before = example.gates[i][j][1:3]
                # Each gate is on the side of the neighbor that it admits.
                for x, y, gate in ((-0.22, -0.22, diagonal[i][j]), (0.22, -0.22, above), (-0.22, 0.24, before)):
                    axes.text(j + x, i + y, form.format(gate), fontsize=13 * cell, **style)
        for i, j in path:
            axes.add_patch(Rectangle((j - 0.44, i - 0.44), 0.88, 0.88, fill=False, edgecolor=MARK, linewidth=2.5))
    legend = [
        *caption,
        f"the longest common subsequence has length {table[-1, -1]}",
        "(a) its length up to each cell; bold: the two words are the same; framed: the path through the table",
        f"(b) the state of each cell; (c) its gates: {name}, previous row, previous column",
        "framed in (b) and (c): the path along the largest gates, from the last cell",
        *([missing_fonts_note(undrawn)] if undrawn else []),
    ]
    _draw_caption(figure, -2 * GAP / (L * cell), legend)
    return figure


def _draw(path: Path, labels: Sequence[str], make_figure: Callable[[frozenset[str]], "Figure"]) -> None:
    """Write a figure, with fonts for its labels; the argument of `make_figure` are characters that no font has."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise InputError("Images need matplotlib: run pip install 'pairlight[plots]'.") from None
    file_type = path.suffix.lstrip(".")
    if file_type not in ("png", "svg"):
        raise InputError(f"{path} is not an image file name: it must end in .png or .svg.")
    families, missing = fonts_for("".join(labels))
    # The text of an SVG stays text, drawn with the fonts of the viewer; a fixed salt makes files reproducible.
    style: dict[Any, Any] = {
        "font.family": families,
        "svg.fonttype": "none",
        "svg.hashsalt": "pairlight",
        "axes.unicode_minus": False,
        "text.parse_math": False,
    }
    with rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = make_figure(missing if file_type == "png" else frozenset())
        with atomic_write(path) as file:
            figure.savefig(
                file,
                format=file_type,
                dpi=200,
                bbox_inches="tight",
                pad_inches=0.15,
                metadata={"Date": None} if file_type == "svg" else {"Software": None},
            )


def _draw_caption(figure: "Figure", y: float, lines: Sequence[str]) -> None:
    axes = figure.axes[0]
    style: dict[str, Any] = {"transform": axes.transAxes, "va": "top", "linespacing": 1.4}
    axes.text(0, y, "\n".join(lines), fontsize=9.5, color="#333333", **style)


def _caption(it: Explanation, number: int, bars: bool, undrawn: set[str]) -> list[str]:
    lines = [f"{it.model}: score {it.score:.3g}"]
    if it.grids[number].kind == "state":
        lines.append("color: the state's dimension with the largest weight; with a negative weight, darker is better")
        lines.append("line: the path along the largest gates, from the last cell")
    elif any(cell.grid == number for cell in it.cells):
        lines.append("numbers: the top cells, by rank")
    if bars:
        lines.append("bars: the score minus the score without the word (orange: negative)")
    if undrawn:
        lines.append(missing_fonts_note(undrawn))
    return lines


def _label_axes(
    axes: "Axes", rows: Sequence[str], columns: Sequence[str], font_size: float, missing: frozenset[str]
) -> set[str]:
    """Write the words on the axes, emoji that no font has as images; return the characters that were not drawn."""
    undrawn: set[str] = set()
    axes.xaxis.tick_top()
    for vertical, words in ((True, rows), (False, columns)):
        labels = []
        for position, word in enumerate(words):
            lacking = missing & set(word)
            image = emoji(word) if lacking and len(word) == 1 else None
            if image is None:
                undrawn |= lacking
                labels.append(_label(word, missing))
            else:
                labels.append("")
                _place_image(axes, image, position, font_size, vertical=vertical)
        (axes.set_yticks if vertical else axes.set_xticks)(range(len(labels)), labels, fontsize=font_size)
    for label in axes.get_xticklabels():
        if len(label.get_text()) > 1:  # single letters stay upright
            label.set(rotation=55, ha="left", rotation_mode="anchor")
    axes.tick_params(which="both", length=0, pad=4)
    axes.spines[:].set_visible(False)
    return undrawn


def _place_image(axes: "Axes", image: Any, position: float, font_size: float, *, vertical: bool) -> None:
    """Draw an image in place of a label of the vertical or the horizontal axis."""
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    if vertical:
        at, transform, offset, alignment = (0.0, position), axes.get_yaxis_transform(), (-4, 0), (1.0, 0.5)
    else:
        at, transform, offset, alignment = (position, 1.0), axes.get_xaxis_transform(), (0, 4), (0.5, 0.0)
    axes.add_artist(
        AnnotationBbox(
            OffsetImage(image, zoom=font_size * 1.25 / image.shape[0]),
            at,
            xycoords=transform,
            xybox=offset,
            boxcoords="offset points",
            box_alignment=alignment,
            frameon=False,
            pad=0,
            annotation_clip=False,
        )
    )


def _number_cells(axes: "Axes", cells: Sequence[TopCell], font_size: float) -> None:
    """Frame the top cells and write their ranks."""
    from matplotlib.patches import Rectangle

    low, high = axes.images[0].get_clim()
    for cell in cells:
        corner, width = (cell.j - 0.5, cell.i - 0.5), font_size / 4
        frame = Rectangle(corner, 1, 1, fill=False, edgecolor=MARK, linewidth=width, zorder=3)
        axes.add_patch(frame).set_clip_on(False)
        ink = "black" if (cell.value - low) > 0.45 * (high - low) else "white"
        style: dict[str, Any] = {"ha": "center", "va": "center_baseline", "weight": "bold"}
        axes.text(cell.j, cell.i, str(cell.rank), fontsize=font_size, color=ink, **style)


def _draw_path(axes: "Axes", it: Explanation, state: str) -> None:
    from matplotlib import patheffects

    for path in (path for path in it.paths if state.startswith(path.name)):
        (line,) = axes.plot([j for _, j in path.cells], [i for i, _ in path.cells], color=MARK, linewidth=2.5)
        line.set_path_effects([patheffects.Stroke(linewidth=4.5, foreground="white"), patheffects.Normal()])
        line.set_solid_joinstyle("round")


def _draw_bars(figure: "Figure", it: Explanation, grid: GridView, width: float, height: float) -> float:
    """Draw the leave-one-out contributions next to rows and below columns; return the width of the bars."""
    if not it.contributions or len(grid.rows) != len(it.left.words) or len(grid.columns) != len(it.right.words):
        return 0.0
    left, right = it.contributions[0].left, it.contributions[0].right
    margin = 0.03 * (max(map(abs, (*left, *right))) or 1.0)
    low, high = min(0.0, *left, *right) - margin, max(0.0, *left, *right) + margin
    beside = figure.add_axes((1 + GAP / width, 0, BAR / width, 1))
    below = figure.add_axes((0, -(GAP + BAR) / height, 1, BAR / height))
    beside.barh(range(len(left)), left, color=_bar_colors(left), height=0.7)
    below.bar(range(len(right)), right, color=_bar_colors(right), width=0.7)
    beside.set(xlim=(low, high), ylim=(len(left) - 0.5, -0.5))
    below.set(ylim=(low, high), xlim=(-0.5, len(right) - 0.5))
    beside.axvline(0, color="#888888", linewidth=0.8)
    below.axhline(0, color="#888888", linewidth=0.8)
    i, j = (max(range(len(values)), key=lambda t: abs(values[t])) for values in (left, right))
    beside.annotate(f"{left[i]:+.2g}", (max(left[i], 0), i), (2, 0), **_SMALL, va="center")
    below.annotate(f"{right[j]:+.2g}", (j, max(right[j], 0)), (0, 2), **_SMALL, ha="center")
    for axes in (beside, below):
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    return GAP + BAR + BAR_LABEL


def _bar_colors(values: Sequence[float]) -> list[str]:
    return [POSITIVE if value > 0 else NEGATIVE for value in values]


def _color_label(grid: GridView) -> str:
    units = {"gate": "share of the state", "attention": "attention weight", "state": "state"}
    return f"{grid.name}: {units.get(grid.kind, 'cell value')}"


def _label(word: str, missing: frozenset[str]) -> str:
    """A label that can be drawn: characters without a font become empty boxes."""
    label = "".join("□" if letter in missing else letter for letter in visible(word))
    return label if len(label) <= MAX_LABEL else label[: MAX_LABEL - 1] + "…"
