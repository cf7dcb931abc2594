"""Explanations as one web page that needs no network: the data goes into the template, which draws it."""

import html
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from pairlight.errors import InputError
from pairlight.explain.explanation import Contributions, Explanation, Grid, Side, Span, Weights
from pairlight.explain.fonts import visible

DIGITS = 4  # of the largest value of a grid: more than a shade or a label can tell apart, and a small file
Json = dict[str, Any]

LEAVE_ONE_OUT = "Without the word, the score would be lower by this much."
GRADIENTS = "The word's part of the score's distance from its baseline, where {zeroed} are zero."
GIVEN = "As the model itself weighs the word."


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
    """The page of several cases, with a list to choose from and filters by kind."""
    written = json.dumps({"title": title, "cases": [_case(case) for case in cases]}, **_COMPACT)
    # Within JSON every "<" stands in a string, where it may end the script; a lone surrogate is no UTF-8.
    written = re.sub("[<\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", written)
    template = files("pairlight.explain").joinpath("page.html").read_text(encoding="utf-8")
    before, between, after = re.split("<!-- title -->|<!-- data -->", template)
    return before + html.escape(title) + between + written + after


_COMPACT: Json = {"ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}


def _case(case: Case) -> Json:
    return {
        "about": case.about,
        "roles": case.roles,
        "kinds": case.kinds,
        "explanations": [_explanation(each) for each in case.explanations],
    }


def _explanation(found: Explanation) -> Json:
    axes: dict[tuple[Span, ...], int] = {}  # most grids of a pair share their rows and columns: each is written once
    grids = [_grid(grid, axes) for grid in found.grids]
    return {
        "model": found.model,
        "score": _number(found.score),
        "probability": _number(found.probability),
        "left": _side(found.left),
        "right": _side(found.right),
        "shades": [_contributions(each) for each in found.contributions] + [_weights(each) for each in found.weights],
        "axes": [[(visible(span.label), span.first, span.end) for span in axis] for axis in axes],
        "grids": grids,
        "cells": [
            (cell.grid, cell.i, cell.j, _number(cell.value), cell.order, _number(cell.adds), _number(cell.share))
            for cell in found.cells
        ],
        "paths": [{"name": path.name, "cells": path.cells} for path in found.paths],
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
        "nearest": [
            (near.left, near.right, _number(near.label), _number(near.score), _number(near.likeness))
            for near in found.nearest
        ],
        "notes": found.notes,
    }


def _side(side: Side) -> Json:
    """The text cut up here, because a browser counts an emoji as two letters where Python counts one."""
    pieces, at = [], 0
    for place, word in enumerate(side.words):
        neighbours = side.words[max(place - 1, 0) : place] + side.words[place + 1 : place + 2]
        # Words that share letters of the text, as 1 and 2 share ½, are shown as the model reads them.
        shared = any(word.start < other.end and other.start < word.end for other in neighbours)
        written = word.text if shared else side.text[word.start : word.end]
        pieces.append((side.text[at : word.start], written, int(word.known)))
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


def _grid(grid: Grid, axes: dict[tuple[Span, ...], int]) -> Json:
    """Values as whole numbers, to be divided by 10 ** digits; what is not finite is left empty."""
    largest = max((abs(value) for row in grid.values for value in row if math.isfinite(value)), default=0.0)
    digits = DIGITS - 1 - math.floor(math.log10(largest)) if largest else 0
    return {
        "name": grid.name,
        "kind": grid.kind,
        "rows": axes.setdefault(grid.rows, len(axes)),
        "columns": axes.setdefault(grid.columns, len(axes)),
        "digits": digits,
        "values": [[round(v * 10.0**digits) if math.isfinite(v) else None for v in row] for row in grid.values],
    }


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.4g}")


def _numbers(values: Iterable[float]) -> list[float | None]:
    return [_number(value) for value in values]
