"""Explains test examples that only one of two models gets right, or whose graded label one predicts better."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pairlight.core.errors import InputError
from pairlight.core.files import write_text
from pairlight.core.records import RecordError
from pairlight.data.pairs import Pairs
from pairlight.evaluation.classification import has_grades
from pairlight.evaluation.evaluate import task_type
from pairlight.evaluation.validation import Column
from pairlight.experiments.leaderboard import DisagreementSummary
from pairlight.experiments.records import read_record, write_record
from pairlight.explain.data import ReportCase
from pairlight.explain.error_analysis import (
    ErrorCategorizer,
    ModelError,
    classification_errors,
    error_threshold,
    predicted_labels,
    ranking_errors,
)
from pairlight.explain.render.html import report_page
from pairlight.inference.model_folder import CONFIG
from pairlight.matcher import Matcher

MARGIN = 0.1  # share of the label scale by which one of two predicted labels must be closer
LIMIT = 5  # explained examples for each model, so that a page stays below 1 MB


@dataclass(frozen=True)
class Disagreement:
    """How many examples only the first and only the second model gets right, or closer, and some of them explained."""

    models: tuple[str, str]
    counts: tuple[int, int]
    cases: tuple[ReportCase, ...]


def write_disagreements(
    folder: Path, models: Sequence[Path], pairs: Pairs, progress: Callable[[float], None]
) -> list[DisagreementSummary | None]:
    """Write a page on the first of these saved models and each other one; None where a model was not saved.

    Pages that exist are not written again.
    """
    best: EvaluatedModel | None = None
    summaries: list[DisagreementSummary | None] = []
    for number, other in enumerate(models[1:], 1):
        path = folder / f"{models[0].name}-and-{other.name}.json"
        summary = _read_summary(path)
        if summary is None and all((model / CONFIG).exists() for model in (models[0], other)):
            best = best or EvaluatedModel(Matcher.load(models[0]), pairs)
            found = disagreement(best, EvaluatedModel(Matcher.load(other), pairs))
            title = f"Where {found.models[0]} and {found.models[1]} disagree"
            write_text(path.with_suffix(".html"), report_page(title, found.cases))
            summary = DisagreementSummary(found.models[0], *found.counts, f"{path.stem}.html")
            write_record(path, summary)
        summaries.append(summary)
        progress(number / (len(models) - 1))
    return summaries


def _read_summary(path: Path) -> DisagreementSummary | None:
    """What is known of a page that was written; None without one, or if the file is damaged."""
    try:
        return read_record(path, DisagreementSummary, "its page is made again") if path.exists() else None
    except RecordError as error:
        warnings.warn(str(error), stacklevel=2)
        return None


def disagreement(one: "EvaluatedModel", other: "EvaluatedModel", limit: int = LIMIT) -> Disagreement:
    """Lists, or pairs, that exactly one of two models gets right, the worst errors of the other model first.

    A ranking list is right if a positive is ranked first; it is shown next to the negative that the other model ranks
    first. A pair is right if it is on the correct side of the threshold of the model.

    Graded pairs are counted for the model whose predicted label is closer by more than a tenth of the label scale, and
    those with the largest difference between the two errors come first.
    """
    if one.predicted is not None:
        return _graded_disagreement(one, other, limit)
    counts, cases = [], []
    for winner, loser in ((one, other), (other, one)):
        errors = [error for key, error in loser.errors.items() if key not in winner.errors]
        errors = [error for error in errors if loser.categorizer.has_words(error)]
        counts.append(len(errors))
        cases += [_case((one, other), winner, loser, error) for error in errors[:limit]]
    return Disagreement((one.name, other.name), (counts[0], counts[1]), tuple(cases))


def _graded_disagreement(one: "EvaluatedModel", other: "EvaluatedModel", limit: int) -> Disagreement:
    margin = MARGIN * float(np.ptp(one.pairs.labels))
    counts: list[int] = []
    cases: list[ReportCase] = []
    for winner, loser in ((one, other), (other, one)):
        gain = loser.label_gaps - winner.label_gaps
        rows = [row for row in np.argsort(-gain, kind="stable").tolist() if gain[row] > margin]
        rows = [row for row in rows if winner.categorizer.has_words(ModelError((row,), "", ()))]
        counts.append(len(rows))
        cases += [
            ReportCase(
                tuple(model.matcher.explain(*model.categorizer.texts(row)) for model in (one, other)),
                f"{winner.name} is closer to the label {one.pairs.labels[row]:g}, by {gain[row]:.3g}.",
                (one.role(row), other.role(row)),
                (f"{winner.name} is closer",),
            )
            for row in rows[:limit]
        ]
    return Disagreement((one.name, other.name), (counts[0], counts[1]), tuple(cases))


class EvaluatedModel:
    """A model with its scores and errors on labeled pairs."""

    def __init__(self, matcher: Matcher, pairs: Pairs) -> None:
        self.matcher, self.pairs, self.name = matcher, pairs, matcher.name
        self.categorizer = ErrorCategorizer(matcher.scorer.tokenizer, pairs)
        self.scores = matcher.predict(pairs)
        self.ranks = task_type(pairs) == "ranking"
        self.predicted: Column | None = None  # the labels, where they are graded
        self.threshold = 0.0
        errors: list[ModelError] = []
        if self.ranks:
            errors = ranking_errors(pairs, self.scores)
        elif has_grades(pairs.labels):
            self.predicted = predicted_labels(matcher.calibration, pairs, self.scores)
        else:
            self.threshold = error_threshold(matcher.calibration, pairs, self.scores)
            errors = classification_errors(pairs, self.scores, self.threshold)
        # By list for rankings, otherwise by pair; the worst error first.
        self.errors: dict[int, ModelError] = {self._key(error.rows[-1]): error for error in errors}

    @property
    def label_gaps(self) -> Column:
        """How far each predicted label is from the graded label."""
        if self.predicted is None:
            raise InputError("These labels are not graded, so no labels are predicted.")
        gaps: Column = np.abs(self.predicted - self.pairs.labels)
        return gaps

    def top(self, row: int) -> int:
        """The row that the model ranks first in the list of this row."""
        rows = self._list(row)
        return int(rows[self.scores[rows].argmax()])

    def role(self, row: int) -> str:
        """How the model ranks or classifies this row, or the label that it predicts."""
        if self.predicted is not None:
            return f"{self.name}: predicted {self.predicted[row]:.3g}, label {self.pairs.labels[row]:g}"
        if not self.ranks:
            gap = float(self.scores[row]) - self.threshold
            return f"{self.name}: {abs(gap):.3g} {'above' if gap >= 0 else 'below'} its threshold"
        rows = self._list(row)
        rank = int((self.scores[rows] >= self.scores[row]).sum())
        kind = "positive" if self.pairs.labels[row] > 0 else "negative"
        return f"{self.name} ranks this {kind} {rank} of {len(rows)}"

    def _key(self, row: int) -> int:
        return int(self.pairs.group[row]) if self.ranks else row

    def _list(self, row: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        return np.flatnonzero(self.pairs.group == self.pairs.group[row])


def _case(
    both: tuple[EvaluatedModel, EvaluatedModel], winner: EvaluatedModel, loser: EvaluatedModel, error: ModelError
) -> ReportCase:
    rows = (winner.top(error.rows[0]), error.rows[0]) if winner.ranks else error.rows
    shown = [(model, row) for row in rows for model in both]
    description = f"{error.description[0].lower()}{error.description[1:]}"
    return ReportCase(
        tuple(model.matcher.explain(*model.categorizer.texts(row)) for model, row in shown),
        f"Only {winner.name} is right. {loser.name}: {description}",
        tuple(model.role(row) for model, row in shown),
        (f"only {winner.name} is right",),
    )
