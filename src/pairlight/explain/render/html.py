"""Writes explanations as one self-contained HTML page: the data goes into a template that draws it."""

import html
import json
import math
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any, Literal

from pairlight.core.errors import InputError
from pairlight.explain.data import (
    AxisLabel,
    Contributions,
    Explanation,
    GridView,
    ReportCase,
    SimilarityBasis,
    TextView,
    WordSpan,
    WordWeights,
)
from pairlight.explain.render.fonts import visible

MAX_BYTES = 1_000_000  # of a page
MAX_CELLS = 24  # top cells of an explanation, if not all grids fit
# Whole numbers from 0 to 8,099 are written as two of these letters, which need no escape in JSON or HTML.
LETTERS = "".join(chr(code) for code in range(35, 127) if chr(code) not in "\\<")
SCORE_DIGITS = 9  # enough to distinguish any two scores
MISSING_VALUE = len(LETTERS) ** 2 - 1  # stands for a value that is not finite
Json = dict[str, Any]
GridSelection = Literal["all", "main", "none"]  # which grids of an explanation are included

LEAVE_ONE_OUT = "Values are the score minus the score without the word."
GRADIENTS = (
    "Values are the word's share of the difference between the score and a baseline, in which {zeroed} are zero."
)
WORD_WEIGHTS = "Values are the weights that the model gives to the words."
SIMILARITY: dict[SimilarityBasis, str] = {
    "score": "Similarity of the features that enter the score. 1 means that they are equal.",
    "words": "Similarity of the words of both texts. 1 means that they are the same.",
}


def explanation_page(explanations: Sequence[Explanation]) -> str:
    """The page of one pair, or of several right texts for the same left text side by side."""
    if not explanations:
        raise InputError("There is no explanation to show: give at least one.", option="explanations")
    count = len(explanations)
    title = "Explanation of a score" if count == 1 else f"Comparison of {count} right texts"
    return report_page(title, [ReportCase(tuple(explanations))])


def report_page(title: str, cases: Sequence[ReportCase]) -> str:
    """The page of several cases, with a list to choose from and filters by category.

    The page has at most 1 MB. If all grids do not fit, only the main grid of each explanation is included; if these do
    not fit either, the last cases have no grids.
    """
    template = files("pairlight.explain.render").joinpath("page.html").read_text(encoding="utf-8")
    start, middle, end = re.split("<!-- title -->|<!-- data -->", template)
    start += html.escape(title) + middle
    json_title = json.dumps(title, **_COMPACT)
    used = sum(len(part.encode("utf-8", "surrogatepass")) for part in (start, end, json_title)) + 100
    return start + _escape(f'{{"title":{json_title},"cases":[{",".join(_fit(cases, MAX_BYTES - used))}]}}') + end


def _fit(cases: Sequence[ReportCase], size: int) -> list[str]:
    """The cases as JSON, with as many grids as fit into this many bytes."""

    def encode(case: ReportCase, grids: GridSelection) -> str:
        return _escape(json.dumps(_case(case, grids), **_COMPACT))

    found = [encode(case, "all") for case in cases]
    if _size(found) > size:
        found = [encode(case, "main") for case in cases]
    for number in reversed(range(len(cases))):
        if _size(found) <= size:
            break
        found[number] = encode(cases[number], "none")
    return found


def _size(texts: Sequence[str]) -> int:
    return sum(len(text.encode("utf-8")) + 1 for text in texts)


def _escape(text: str) -> str:
    """Escape "<", which could end the script, and lone surrogates, which UTF-8 cannot encode."""
    return re.sub("[<\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


_COMPACT: Json = {"ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}


def _case(case: ReportCase, grids: GridSelection) -> Json:
    return {
        "description": case.description,
        "roles": case.roles,
        "categories": case.categories,
        "explanations": [_explanation(each, grids) for each in case.explanations],
    }


def _explanation(it: Explanation, selection: GridSelection) -> Json:
    included = [n for n in range(len(it.grids)) if selection == "all" or (selection == "main" and n == it.main_grid)]
    cells = [cell for cell in it.cells if cell.grid in included]
    notes = it.notes
    if len(included) < len(it.grids):
        cells = cells[:MAX_CELLS]
        notes += (
            f"This page includes {len(included)} of {len(it.grids)} grids to limit its size. "
            "To see all of them, explain the pair alone.",
        )
    axes: dict[tuple[AxisLabel, ...], int] = {}  # grids share axes, so each axis is written once
    grids = [_grid(it.grids[number], axes) for number in included]
    return {
        "model": it.model,
        "score": _rounded(it.score, SCORE_DIGITS),
        "probability": _rounded(it.probability),
        "left": _text(it.left),
        "right": _text(it.right),
        "shades": [_contributions(each) for each in it.contributions] + [_weights(each) for each in it.weights],
        "axes": [_axis(axis, it) for axis in axes],
        "grids": grids,
        "cells": [
            (
                included.index(cell.grid),
                cell.i,
                cell.j,
                *map(_rounded, (cell.value, cell.rank, cell.contribution, cell.share)),
            )
            for cell in cells
        ],
        "paths": [
            {"name": path.name, "packed": pack(index for cell in path.cells for index in cell)}
            for path in (it.paths if included else ())
        ],
        "tables": [
            {
                "name": table.name,
                "description": table.description,
                "facts": [
                    {
                        "label": fact.label,
                        "left": fact.left,
                        "right": fact.right,
                        "contribution": _rounded(fact.contribution),
                        "values": {name: _rounded(value) for name, value in (fact.values or {}).items()},
                    }
                    for fact in table.facts
                ],
            }
            for table in it.tables
        ],
        "similarity": SIMILARITY[it.nearest[0].basis] if it.nearest else None,
        "nearest": [
            (near.left, near.right, _rounded(near.label), _rounded(near.score), _rounded(near.similarity))
            for near in it.nearest
        ],
        "notes": notes,
    }


def _text(text: TextView) -> Json:
    """The text in segments, because positions differ: JavaScript counts an emoji as two characters, Python as one."""
    segments: list[Any] = []
    position = 0
    for number, word in enumerate(text.words):
        neighbors = text.words[max(number - 1, 0) : number] + text.words[number + 1 : number + 2]
        # Words that share characters of the text, such as 1 and 2 in ½, are shown as the model reads them.
        overlaps = any(word.start < other.end and other.start < word.end for other in neighbors)
        written = word.text if overlaps else text.text[word.start : word.end]
        gap = text.text[position : word.start]
        # Most words are known and follow one space, so these are written as a plain string.
        segments.append(written if gap == " " and word.known else (gap, written, int(word.known)))
        position = max(position, word.end)
    return {"segments": segments, "tail": text.text[position:], "truncated": text.truncated}


def _contributions(found: Contributions) -> Json:
    zeroed = {"word vectors": "all word vectors", "interaction grid": "all cells of the grid"}
    is_gradients = found.method == "integrated-gradients"
    return {
        "name": found.method.replace("-", " "),
        "description": GRADIENTS.format(zeroed=zeroed.get(found.zeroed or "", "inputs"))
        if is_gradients
        else LEAVE_ONE_OUT,
        "contributes": True,
        "left": _all_rounded(found.left),
        "right": _all_rounded(found.right),
        "baseline": _rounded(found.baseline),
        "residual": _rounded(found.residual),
    }


def _weights(found: WordWeights) -> Json:
    return {
        "name": found.name,
        "description": WORD_WEIGHTS,
        "contributes": False,
        "left": None if found.left is None else _all_rounded(found.left),
        "right": None if found.right is None else _all_rounded(found.right),
    }


def _axis(axis: tuple[AxisLabel, ...], it: Explanation) -> str | list[tuple[str, int, int]]:
    """The labels of an axis; only "left" or "right" if they are the words of that text, which the page has already."""
    for name, text in (("left", it.left), ("right", it.right)):
        labels = [(label.text, label.first, label.end) for label in axis]
        if labels == [(_ascii_lower(text, word), number, number + 1) for number, word in enumerate(text.words)]:
            return name
    return [(visible(label.text), label.first, label.end) for label in axis]


def _ascii_lower(text: TextView, word: WordSpan) -> str | None:
    """A word in lower case if it is ASCII; for other letters, the result of a browser may differ."""
    written = text.text[word.start : word.end]
    return written.lower() if written.isascii() else None


def _grid(grid: GridView, axes: dict[tuple[AxisLabel, ...], int]) -> Json:
    """A grid with packed values: (base + number) · times / 10 ** digits, so that 0 stays exactly 0."""
    finite = [value for row in grid.values for value in row if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    digits, times = _step(low, high)
    step = times * 10.0**-digits
    base = round(low / step)
    numbers = (round(v / step) - base if math.isfinite(v) else MISSING_VALUE for row in grid.values for v in row)
    return {
        "name": grid.name,
        "kind": grid.kind,
        "rows": axes.setdefault(grid.rows, len(axes)),
        "columns": axes.setdefault(grid.columns, len(axes)),
        "base": base,
        "times": times,
        "digits": digits,
        "packed": pack(numbers),
    }


def _step(low: float, high: float) -> tuple[int, int]:
    """The digits and times (1, 2 or 5) of the smallest step times / 10 ** digits that covers the range."""
    smallest = max(high - low, 1e-4 * max(abs(low), abs(high)), 1e-300) / (MISSING_VALUE - 2)
    digits = -math.floor(math.log10(smallest))
    return next((digits, times) for times in (1, 2, 5, 10) if times * 10.0**-digits >= smallest)


def pack(numbers: Iterable[int]) -> str:
    """Whole numbers from 0 to MISSING_VALUE as two letters each."""
    return "".join(LETTERS[number // len(LETTERS)] + LETTERS[number % len(LETTERS)] for number in numbers)


def _rounded(value: float | None, digits: int = 4) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")


def _all_rounded(values: Iterable[float]) -> list[float | None]:
    return [_rounded(value) for value in values]
