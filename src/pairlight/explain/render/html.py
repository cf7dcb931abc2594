"""Explanations as one web page that needs no network: the data goes into the template, which draws it."""

import html
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from pairlight.core.errors import InputError
from pairlight.explain.data import Contributions, Explanation, Grid, Likeness, Side, Span, Weights, Word
from pairlight.explain.render.fonts import visible

MOST = 1_000_000  # bytes of a page
CELLS = 24  # strongest cells of a pair, where a page must be made smaller
# Numbers from 0 to 8,099 as two letters each, none of which JSON or HTML must escape.
LETTERS = "".join(chr(code) for code in range(35, 127) if chr(code) not in "\\<")
EXACT = 9  # digits that tell any two scores apart
STEPS = len(LETTERS) ** 2 - 1  # the last number stands for what is not finite
Json = dict[str, Any]
Show = Literal["all", "first", "none"]  # which grids of a pair

LEAVE_ONE_OUT = "Without the word, the score would be lower by this much."
GRADIENTS = "The word's part of the score's distance from its baseline, where {zeroed} are zero."
GIVEN = "As the model itself weighs the word."
LIKENESS: dict[Likeness, str] = {
    "score": "By what enters the model's score: 1 where it makes the same of both pairs.",
    "words": "By the words of either side: 1 where both pairs have the same.",
}


@dataclass(frozen=True)
class Case:
    """Explanations to be seen side by side, what is to be said about them, and the kinds to find them by."""

    explanations: tuple[Explanation, ...]
    about: str = ""
    roles: tuple[str, ...] = ()  # one for each explanation
    kinds: tuple[str, ...] = ()


def page(explanations: Sequence[Explanation]) -> str:
    """The page of one pair, or of one left text with several right ones side by side."""
    if not explanations:
        raise InputError("There is no explanation to show: give one or more.")
    count = len(explanations)
    title = "Why two texts match" if count == 1 else f"Why one text matches {count} others as it does"
    return report(title, [Case(tuple(explanations))])


def report(title: str, cases: Sequence[Case]) -> str:
    """The page of several cases, with a list to choose from and filters by kind.

    It has up to MOST bytes: where all grids are too many, each pair keeps the one to look at first, and where those are
    too many still, the last cases go without.
    """
    template = files("pairlight.explain.render").joinpath("page.html").read_text(encoding="utf-8")
    before, between, after = re.split("<!-- title -->|<!-- data -->", template)
    before, after = before + html.escape(title) + between, after
    written = json.dumps(title, **_COMPACT)
    room = MOST - sum(len(part.encode("utf-8", "surrogatepass")) for part in (before, after, written)) - 100
    shown = _fitting(cases, room)
    return before + _safe(f'{{"title":{written},"cases":[{",".join(shown)}]}}') + after


def _fitting(cases: Sequence[Case], room: int) -> list[str]:
    """The cases as JSON, with as many grids as there is room for."""

    def written(case: Case, show: ProgressReporter) -> str:
        return _safe(json.dumps(_case(case, show), **_COMPACT))

    found = [written(case, "all") for case in cases]
    if _length(found) > room:
        found = [written(case, "first") for case in cases]
    for place in reversed(range(len(cases))):
        if _length(found) <= room:
            break
        found[place] = written(cases[place], "none")
    return found


def _length(parts: Sequence[str]) -> int:
    return sum(len(part.encode("utf-8")) + 1 for part in parts)


def _safe(written: str) -> str:
    """Within JSON every "<" stands in a string, where it may end the script; a lone surrogate is no UTF-8."""
    return re.sub("[<\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", written)


_COMPACT: Json = {"ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}


def _case(case: Case, show: ProgressReporter) -> Json:
    return {
        "about": case.about,
        "roles": case.roles,
        "kinds": case.kinds,
        "explanations": [_explanation(each, show) for each in case.explanations],
    }


def _explanation(found: Explanation, show: ProgressReporter) -> Json:
    kept = [place for place in range(len(found.grids)) if show == "all" or (show == "first" and place == found.shown)]
    cells = [cell for cell in found.cells if cell.grid in kept]
    notes = found.notes
    if len(kept) < len(found.grids):
        cells = cells[:CELLS]
        notes += (
            f"To keep this page small, {len(kept)} of {len(found.grids)} grids are shown: explain the pair alone.",
        )
    axes: dict[tuple[Span, ...], int] = {}  # most grids of a pair share their rows and columns: each is written once
    grids = [_grid(found.grids[place], axes) for place in kept]
    return {
        "model": found.model,
        "score": _number(found.score, EXACT),
        "probability": _number(found.probability),
        "left": _side(found.left),
        "right": _side(found.right),
        "shades": [_contributions(each) for each in found.contributions] + [_weights(each) for each in found.weights],
        "axes": [_axis(axis, found) for axis in axes],
        "grids": grids,
        "cells": [
            (kept.index(cell.grid), cell.i, cell.j, *map(_number, (cell.value, cell.order, cell.adds, cell.share)))
            for cell in cells
        ],
        "paths": [
            {"name": path.name, "packed": packed(place for cell in path.cells for place in cell)}
            for path in (found.paths if kept else ())
        ],
        "tables": [
            {
                "name": table.name,
                "about": table.about,
                "facts": [
                    {
                        "label": fact.label,
                        "left": fact.left,
                        "right": fact.right,
                        "adds": _number(fact.adds),
                        "values": {name: _number(value) for name, value in (fact.values or {}).items()},
                    }
                    for fact in table.facts
                ],
            }
            for table in found.tables
        ],
        "likeness": LIKENESS[found.nearest[0].by] if found.nearest else None,
        "nearest": [
            (near.left, near.right, _number(near.label), _number(near.score), _number(near.likeness))
            for near in found.nearest
        ],
        "notes": notes,
    }


def _side(side: Side) -> Json:
    """The text cut up here, because a browser counts an emoji as two letters where Python counts one."""
    pieces: list[Any] = []
    at = 0
    for place, word in enumerate(side.words):
        neighbours = side.words[max(place - 1, 0) : place] + side.words[place + 1 : place + 2]
        # Words that share letters of the text, as 1 and 2 share ½, are shown as the model reads them.
        shared = any(word.start < other.end and other.start < word.end for other in neighbours)
        written = word.text if shared else side.text[word.start : word.end]
        gap = side.text[at : word.start]
        # Most words are known and stand behind one space: those are written without saying so.
        pieces.append(written if gap == " " and word.known else (gap, written, int(word.known)))
        at = max(at, word.end)
    return {"pieces": pieces, "tail": side.text[at:], "cut": side.cut}


def _contributions(found: Contributions) -> Json:
    gradients = found.method == "integrated-gradients"
    zeroed = {"word vectors": "all word vectors", "interaction grid": "all cells of the grid"}
    return {
        "name": found.method.replace("-", " "),
        "about": GRADIENTS.format(zeroed=zeroed.get(found.zeroed or "", "inputs")) if gradients else LEAVE_ONE_OUT,
        "adds": True,
        "left": _numbers(found.left),
        "right": _numbers(found.right),
        "baseline": _number(found.baseline),
        "residual": _number(found.residual),
    }


def _weights(found: Weights) -> Json:
    sides = {name: None if side is None else _numbers(side) for name, side in vars(found).items() if name != "name"}
    return {"name": found.name, "about": GIVEN, "adds": False, **sides}


def _axis(axis: tuple[Span, ...], found: Explanation) -> str | list[tuple[str, int, int]]:
    """The name of the side where each row is one of its words in their order, which the page knows; else all spans."""
    for name, side in (("left", found.left), ("right", found.right)):
        words = [(span.label, span.first, span.end) for span in axis]
        if words == [(_lower(side, word), place, place + 1) for place, word in enumerate(side.words)]:
            return name
    return [(visible(span.label), span.first, span.end) for span in axis]


def _lower(side: Side, word: Word) -> str | None:
    """A word as the page makes it a label of: only of plain letters is it sure that browsers write them small alike."""
    written = side.text[word.start : word.end]
    return written.lower() if written.isascii() else None


def _grid(grid: Grid, axes: dict[tuple[Span, ...], int]) -> Json:
    """Values as (base + number) · times / 10 ** digits: round steps, so that 0 stays 0; what is not finite is empty."""
    finite = [value for row in grid.values for value in row if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    digits, times = _step(low, high)
    step = times * 10.0**-digits
    base = round(low / step)
    numbers = (round(v / step) - base if math.isfinite(v) else STEPS for row in grid.values for v in row)
    return {
        "name": grid.name,
        "kind": grid.kind,
        "rows": axes.setdefault(grid.rows, len(axes)),
        "columns": axes.setdefault(grid.columns, len(axes)),
        "base": base,
        "times": times,
        "digits": digits,
        "packed": packed(numbers),
    }


def _step(low: float, high: float) -> tuple[int, int]:
    """The digits and the 1, 2 or 5 of the smallest round step that leads from low to high in less than STEPS."""
    wide = max(high - low, 1e-4 * max(abs(low), abs(high)), 1e-300) / (STEPS - 2)
    digits = -math.floor(math.log10(wide))
    return next((digits, times) for times in (1, 2, 5, 10) if times * 10.0**-digits >= wide)


def packed(numbers: Iterable[int]) -> str:
    """Whole numbers from 0 to STEPS as two letters each."""
    return "".join(LETTERS[number // len(LETTERS)] + LETTERS[number % len(LETTERS)] for number in numbers)


def _number(value: float | None, digits: int = 4) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")


def _numbers(values: Iterable[float]) -> list[float | None]:
    return [_number(value) for value in values]
