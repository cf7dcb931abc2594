"""Where two models disagree: examples that only one of them gets right, each explained by both."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pairlight.data.pairs import Floats, Pairs
from pairlight.evaluation.evaluate import task_type
from pairlight.explain.error_analysis import Texts, Wrong, called_wrong, ranked_low, threshold_of
from pairlight.explain.render.html import Case, report
from pairlight.core.files import write_text
from pairlight.matcher import CONFIG, Matcher

MOST = 5  # examples told either way: a page with their explanations stays below 1 MB
Told = dict[str, Any]


@dataclass(frozen=True)
class Disagreement:
    """What sets two models apart: how many examples only the first, and only the second, gets right, and the worst."""

    names: tuple[str, str]
    only: tuple[int, int]
    cases: list[Case]


def write_pages(folder: Path, models: Sequence[Path], pairs: Pairs, done: Callable[[float], None]) -> list[Told | None]:
    """A page for the first of several saved models beside each other one; what is told of it, None where none is saved.

    A page that the folder holds already is not made again.
    """
    best: Opinion | None = None
    told: list[Told | None] = []
    for number, other in enumerate(models[1:], 1):
        facts = folder / f"{models[0].name}-and-{other.name}.json"
        if not facts.exists() and all((each / CONFIG).exists() for each in (models[0], other)):
            best = best or Opinion(Matcher.load(models[0]), pairs)
            found = disagreement(best, Opinion(Matcher.load(other), pairs))
            title = f"Where {found.names[0]} and {found.names[1]} disagree"
            write_text(facts.with_suffix(".html"), report(title, found.cases))
            write_text(facts, json.dumps({"with": found.names[0], "only": found.only}) + "\n")
        known = facts.exists()
        told.append(json.loads(facts.read_text("utf-8")) | {"page": f"{facts.stem}.html"} if known else None)
        done(number / (len(models) - 1))
    return told


def disagreement(one: "Opinion", other: "Opinion", most: int = MOST) -> Disagreement:
    """Lists, or pairs, that exactly one of two models gets right; first those where the other is worst off.

    A list is right where a right answer stands first: it is shown beside the wrong one that the other model prefers.
    A pair is right on its side of the model's threshold.
    """
    only, cases = [], []
    for winner, loser in ((one, other), (other, one)):
        lost = [wrong for at, wrong in loser.wrong.items() if at not in winner.wrong and loser.readable(wrong)]
        only.append(len(lost))
        cases += [_case((one, other), winner, loser, wrong) for wrong in lost[:most]]
    return Disagreement((one.name, other.name), (only[0], only[1]), cases)


class Opinion:
    """A model with what it says of the pairs."""

    def __init__(self, matcher: Matcher, pairs: Pairs) -> None:
        self.matcher, self.name = matcher, matcher.name
        self.pairs, self.texts = pairs, Texts(matcher, pairs)
        self.scores: Floats = matcher.predict(pairs)
        self.ranks = task_type(pairs) == "ranking"
        self.cut = 0.0 if self.ranks else threshold_of(matcher, pairs, self.scores)
        found = ranked_low(pairs, self.scores) if self.ranks else called_wrong(pairs, self.scores, self.cut)
        # By list where lists are ranked, else by pair; the worst first.
        self.wrong: dict[int, Wrong] = {int(pairs.group[w.rows[-1]]) if self.ranks else w.rows[-1]: w for w in found}

    def readable(self, wrong: Wrong) -> bool:
        return all(self.texts.words[side[row]] for row in wrong.rows for side in self.texts.sides)

    def first(self, row: int) -> int:
        """The answer it ranks first in the list of a row."""
        rows = np.flatnonzero(self.pairs.group == self.pairs.group[row])
        return int(rows[self.scores[rows].argmax()])

    def says(self, row: int) -> str:
        if not self.ranks:
            gap = float(self.scores[row]) - self.cut
            return f"{self.name}: {abs(gap):.3g} {'above' if gap >= 0 else 'below'} its threshold"
        rows = np.flatnonzero(self.pairs.group == self.pairs.group[row])
        place = int((self.scores[rows] >= self.scores[row]).sum())
        right = "right" if self.pairs.labels[row] > 0 else "wrong"
        return f"{self.name} ranks this {right} answer {place} of {len(rows)}"


def _case(both: tuple[Opinion, Opinion], winner: Opinion, loser: Opinion, wrong: Wrong) -> Case:
    rows = (winner.first(wrong.rows[0]), wrong.rows[0]) if winner.ranks else wrong.rows
    seen = [(opinion, row) for row in rows for opinion in both]
    only = f"only {winner.name} is right"
    return Case(
        tuple(opinion.matcher.explain(*opinion.texts.of(row)) for opinion, row in seen),
        f"{only[0].upper()}{only[1:]}. {loser.name}: {wrong.about[0].lower()}{wrong.about[1:]}",
        tuple(opinion.says(row) for opinion, row in seen),
        (only,),
    )
