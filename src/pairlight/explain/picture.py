"""An explanation as a picture: the grid with the words on its axes, the cells that count numbered, the path on top."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairlight.errors import InputError
from pairlight.explain.explanation import Cell, Explanation, Grid, Span
from pairlight.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Told apart by every eye: cividis runs from dark blue to yellow, blue and orange stand for more and less.
COLOURS, MARK, MORE, LESS = "cividis", "#d81b60", "#2166ac", "#d95f02"
CELL, LARGEST, GAP, BAR = 0.36, 11.0, 0.12, 0.8  # inches: a cell, the whole grid at most, between axes, a bar at most
_SMALL: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8, "color": "#333333", "annotation_clip": False}
LABEL = 26  # letters of a label, at most
NUMBERED = 10  # cells at most


def picture(explanation: Explanation, path: Path, *, grid: int | None = None) -> None:
    """Draw one grid of an explanation (by default the one to look at first) to a PNG or SVG file."""
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
    families, missing = _fonts("".join(span.label for span in _spans(explanation.grids[at])))
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
        figure = drawn(explanation, at, missing if form == "png" else frozenset())
        with replacing(path) as file:
            figure.savefig(
                file,
                format=form,
                dpi=200,
                bbox_inches="tight",
                pad_inches=0.15,
                metadata={"Date": None} if form == "svg" else {"Software": None},
            )


def drawn(it: Explanation, at: int, missing: frozenset[str] = frozenset()) -> "Figure":
    """The figure: the grid; beside and below it what each word adds; letters that no font has are left to a note."""
    from matplotlib.figure import Figure

    grid = it.grids[at]
    L, R = len(grid.rows), len(grid.columns)
    cell = min(CELL, LARGEST / max(L, R))
    width, height = R * cell, L * cell
    letters = min(11.0, 44 * cell)  # points
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    image = axes.imshow(grid.values, cmap=COLOURS, aspect="auto", interpolation="nearest")
    _words_on(axes, grid, letters, missing)
    if cell > 0.15:
        axes.set_xticks([j - 0.5 for j in range(1, R)], minor=True)
        axes.set_yticks([i - 0.5 for i in range(1, L)], minor=True)
        axes.grid(which="minor", color="white", linewidth=0.6)
    _mark(axes, [each for each in it.cells if each.grid == at][:NUMBERED], letters)
    if grid.kind == "state":
        _path(axes, it, grid.name)
    beside = _bars(figure, it, grid, width, height)
    bar = figure.add_axes((1 + (beside + 3 * GAP) / width, 0, 0.16 / width, 1))
    figure.colorbar(image, cax=bar).set_label(_unit(grid), fontsize=10)
    bar.tick_params(labelsize=9, length=2)
    bar.spines[:].set_visible(False)
    below = -(2 * GAP + (BAR if beside else 0)) / height
    caption = "\n".join(_caption(it, at, bool(beside), missing))
    axes.text(0, below, caption, transform=axes.transAxes, va="top", fontsize=9.5, color="#333333", linespacing=1.4)
    return figure


def _caption(it: Explanation, at: int, bars: bool, missing: frozenset[str]) -> list[str]:
    """How to read the picture."""
    lines = [f"{it.model}: score {it.score:.2f}"]
    if it.grids[at].kind == "state":
        lines.append("line: the way the match was built, traced back along the largest gate")
    elif any(cell.grid == at for cell in it.cells):
        lines.append("numbered: the cells that count most, in the model's order")
    if bars:
        lines.append("bars: how far the score falls when the word is left out (orange: it rises)")
    if missing:
        codes = ", ".join(f"U+{ord(letter):04X}" for letter in sorted(missing)[:6])
        lines.append(f"no font here has {codes}: install one, such as Noto Sans CJK, or write an SVG")
    return lines


def _words_on(axes: "Axes", grid: Grid, letters: float, missing: frozenset[str]) -> None:
    axes.set_yticks(range(len(grid.rows)), [_label(row, missing) for row in grid.rows], fontsize=letters)
    columns = [_label(column, missing) for column in grid.columns]
    axes.set_xticks(range(len(columns)), columns, rotation=55, ha="left", rotation_mode="anchor", fontsize=letters)
    axes.xaxis.tick_top()
    axes.tick_params(which="both", length=0, pad=4)
    axes.spines[:].set_visible(False)


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
    return GAP + BAR


def _colours(values: Sequence[float]) -> list[str]:
    return [MORE if value > 0 else LESS for value in values]


def _unit(grid: Grid) -> str:
    return {"gate": f"{grid.name} (share of the state)", "attention": f"{grid.name} (share)"}.get(grid.kind, grid.name)


def _label(span: Span, missing: frozenset[str]) -> str:
    """A label that can be drawn: letters without a font become their empty frame."""
    label = "".join("□" if letter in missing else letter for letter in span.label)
    return label if len(label) <= LABEL else label[: LABEL - 1] + "…"


def _spans(grid: Grid) -> tuple[Span, ...]:
    return grid.rows + grid.columns


def _fonts(text: str) -> tuple[list[str], frozenset[str]]:
    """The fonts to draw these letters with, the default first, and the letters that none of those installed has."""
    from matplotlib.font_manager import findfont, fontManager, get_font

    families = ["DejaVu Sans"]
    missing = {ord(letter) for letter in text if not letter.isspace()} - set(
        get_font(findfont(families[0])).get_charmap()
    )
    others = {} if not missing else {
        entry.name: entry.fname for entry in fontManager.ttflist
        if not any(unfit in entry.name for unfit in ("Last Resort", "LastResort", "Color"))  # placeholders, bitmaps
    }  # fmt: skip
    while missing and others:
        has = {name: len(missing & set(get_font(file).get_charmap())) for name, file in others.items()}
        best = max(has, key=lambda name: (has[name], name))
        if not has[best]:
            break
        families.append(best)
        missing -= set(get_font(others.pop(best)).get_charmap())
    return families, frozenset(map(chr, missing))
