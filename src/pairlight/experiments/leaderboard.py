"""The leaderboard of a comparison: a row for each model, and its Markdown, HTML and JSON files."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairlight.core.files import write_json
from pairlight.core.markdown import inline_code
from pairlight.evaluation.metrics import GRADE_METRICS
from pairlight.experiments.executor import Failed
from pairlight.experiments.page import (
    PageBlock,
    PageEntry,
    PageHeading,
    PageImage,
    PageTable,
    page_markdown,
    write_page,
)
from pairlight.experiments.records import FORMAT, Record, Values
from pairlight.experiments.spec import RunResult

CURVES = "Training loss and dev metric after every epoch"


@dataclass(frozen=True)
class DisagreementSummary(Record):
    """On how many test examples the best model and another one disagree."""

    best: str  # the name of the best model
    only_best: int  # examples that only the best model gets right
    only_other: int
    page: str  # the explanations, as a path relative to the leaderboard


@dataclass(frozen=True)
class LeaderboardRow(Record):
    """A model: means over seeds."""

    model: str
    seeds: int
    test: dict[str, float]
    std: dict[str, float]  # standard deviation of the test metrics; 0 for one seed
    dev: float  # the metric of the leaderboard
    paper: float | None  # a published result
    train_seconds: float
    parameters: int
    settings: Values  # of the first seed
    options: Values
    disagreements: DisagreementSummary | None = None


@dataclass(frozen=True)
class Leaderboard:
    """Models ranked by their test metric, best first."""

    dataset: str
    metric: str
    command: str
    rows: tuple[LeaderboardRow, ...]
    curves: Path | None = None  # an image of the learning curves
    failures: tuple[Failed, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        rows = [row.as_dict() for row in self.rows]
        return {"format": FORMAT, "dataset": self.dataset, "metric": self.metric, "command": self.command, "rows": rows}


def leaderboard_rows(results: Sequence[RunResult], metric: str, papers: Mapping[str, float]) -> list[LeaderboardRow]:
    """A row for each model, best first."""
    rows = []
    for model in dict.fromkeys(result.model for result in results):
        runs = [result for result in results if result.model == model]
        test = {name: [run.test[name] for run in runs] for name in runs[0].test}
        rows.append(
            LeaderboardRow(
                model,
                len(runs),
                {name: statistics.mean(values) for name, values in test.items()},
                {name: statistics.pstdev(values) for name, values in test.items()},
                statistics.mean(run.dev[metric] for run in runs),
                papers.get(model),
                statistics.mean(run.train_seconds for run in runs),
                runs[0].parameters,
                runs[0].settings,
                runs[0].options,
            )
        )
    return sorted(rows, key=lambda row: -row.test[metric])


def write_leaderboard(out: Path, leaderboard: Leaderboard) -> None:
    """Write leaderboard.md, leaderboard.html and leaderboard.json."""
    write_page(out / "leaderboard", _title(leaderboard), _blocks(leaderboard))
    write_json(out / "leaderboard.json", leaderboard.as_dict())


def leaderboard_markdown(leaderboard: Leaderboard) -> str:
    return page_markdown(_title(leaderboard), _blocks(leaderboard))


def mean_and_std(mean: float, std: float, seeds: int) -> str:
    """0.690 ± 0.008, or the mean alone for one seed."""
    return f"{mean:.3f} ± {std:.3f}" if seeds > 1 else f"{mean:.3f}"


def _title(leaderboard: Leaderboard) -> str:
    return f"Leaderboard: {leaderboard.dataset}"


def _blocks(leaderboard: Leaderboard) -> list[PageBlock]:
    rows, metric = leaderboard.rows, leaderboard.metric
    seeds = max(row.seeds for row in rows)
    averaged = f", mean ± standard deviation of {seeds} seeds" if seeds > 1 else ""
    blocks: list[PageBlock] = [
        f"Test {metric}{averaged}; the best epoch was selected on dev. Made by {inline_code(leaderboard.command)}.",
        _table(rows, metric),
    ]
    best = next((row.disagreements.best for row in rows if row.disagreements), None)
    if best is not None:
        graded = metric in GRADE_METRICS
        shown = "whose label {} predicts better by a tenth of the scale" if graded else "that only {} gets right"
        blocks.append(
            f"Disagreements: test examples {shown.format(best)} + test examples {shown.format('the model of the row')},"
            " for the first seed. The link leads to explanations by both models."
        )
    if leaderboard.curves is not None:
        blocks += [PageHeading("Learning curves"), PageImage(leaderboard.curves, CURVES)]
    return blocks


def _table(rows: Sequence[LeaderboardRow], metric: str) -> PageTable:
    others = [name for name in rows[0].test if name != metric]
    head = ["model", metric, *others, f"dev {metric}", f"{metric} in the paper", "training s", "trained parameters"]
    linked = any(row.disagreements for row in rows)
    best = max(row.test[metric] for row in rows)
    lines = []
    for row in rows:
        line: list[str | PageEntry] = [
            PageEntry(row.model, title=json.dumps({"settings": row.settings, "options": row.options})),
            PageEntry(mean_and_std(row.test[metric], row.std[metric], row.seeds), bar=_share(row.test[metric], best)),
            *(f"{row.test[name]:.3f}" for name in others),
            f"{row.dev:.3f}",
            "" if row.paper is None else f"{row.paper:.3f}",
            f"{row.train_seconds:.0f}",
            f"{row.parameters:,}",
        ]
        if linked:
            found = row.disagreements
            line.append(PageEntry(f"{found.only_best} + {found.only_other}", link=found.page) if found else "")
        lines.append(line)
    return PageTable([*head, *(["disagreements"] if linked else [])], lines)


def _share(value: float, best: float) -> float:
    return min(max(value / best, 0.0), 1.0) if best > 0 else 0.0  # a rank correlation may be negative
