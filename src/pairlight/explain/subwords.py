"""Joins the subwords of an explanation into words."""

from collections.abc import Sequence
from dataclasses import replace

from pairlight.explain.data import (
    AxisLabel,
    Contributions,
    Explanation,
    Fact,
    GridView,
    TextView,
    WordSpan,
    WordWeights,
)

Numbers = Sequence[int]  # for each subword of a text, the number of its word


def join_subwords(explanation: Explanation, left: Numbers, right: Numbers) -> Explanation:
    """The same explanation in terms of words; rows and columns of grids stay subwords, labeled with their word."""
    sides = left, right
    return replace(
        explanation,
        left=join_words(explanation.left, left),
        right=join_words(explanation.right, right),
        contributions=tuple(_join_contributions(each, *sides) for each in explanation.contributions),
        grids=tuple(_join_grid(grid, *sides) for grid in explanation.grids),
        weights=tuple(_join_weights(each, *sides) for each in explanation.weights),
        tables=tuple(
            replace(table, facts=tuple(_join_fact(fact, *sides) for fact in table.facts))
            for table in explanation.tables
        ),
    )


def join_words(text: TextView, numbers: Numbers) -> TextView:
    """A text whose words are joined from its subwords."""
    kept = numbers[: len(text.words)]
    words = []
    for number in range(kept[-1] + 1):
        parts = [part for part, word in zip(text.words, kept, strict=True) if word == number]
        start, end = parts[0].start, parts[-1].end
        while start < end - 1 and text.text[start].isspace():
            start += 1
        words.append(WordSpan(text.text[start:end].lower(), start, end))
    return TextView(text.text, tuple(words), numbers[-1] + 1 - len(words))


def _sum(values: Sequence[float], numbers: Numbers) -> tuple[float, ...]:
    totals = [0.0] * (numbers[len(values) - 1] + 1)
    for value, number in zip(values, numbers, strict=False):
        totals[number] += value
    return tuple(totals)


def _join_contributions(found: Contributions, left: Numbers, right: Numbers) -> Contributions:
    if found.method == "leave-one-out":  # whole words were left out
        return found
    return replace(found, left=_sum(found.left, left), right=_sum(found.right, right))


def _join_grid(grid: GridView, left: Numbers, right: Numbers) -> GridView:
    rows, columns = (
        tuple(
            AxisLabel(label.text, numbers[label.first], numbers[label.end - 1] + 1)
            if label.end > label.first
            else label
            for label in labels
        )
        for labels, numbers in ((grid.rows, left), (grid.columns, right))
    )
    return replace(grid, rows=rows, columns=columns)


def _join_weights(found: WordWeights, left: Numbers, right: Numbers) -> WordWeights:
    return replace(
        found,
        left=None if found.left is None else _sum(found.left, left),
        right=None if found.right is None else _sum(found.right, right),
    )


def _join_fact(fact: Fact, left: Numbers, right: Numbers) -> Fact:
    return replace(
        fact,
        left=tuple(dict.fromkeys(left[i] for i in fact.left)),
        right=tuple(dict.fromkeys(right[j] for j in fact.right)),
    )
