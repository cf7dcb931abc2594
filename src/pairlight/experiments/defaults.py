"""Chooses the default training options of every model on the dev parts of the panel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pairlight.core.markdown import markdown_table
from pairlight.core.progress import ProgressReporter
from pairlight.experiments.executor import Executor, Failed
from pairlight.experiments.panel import PANEL, PanelRecords, PanelRun, run_panel
from pairlight.experiments.records import Values
from pairlight.experiments.spec import RunSpec, with_seed
from pairlight.models import MODELS, model_class

CUT = 500  # training lists, or pairs
FIRST = ("wikiqa", "stsb-en", "banking77-faq")  # the datasets that halve the candidates
UNTRAINED = ("random", "bm25")
CANDIDATES: tuple[Values, ...] = (
    {"lr": 0.001, "freeze": True},
    {"lr": 0.003, "freeze": True},
    {"lr": 0.0003, "freeze": True},
    {"lr": 0.001, "freeze": False},
)


@dataclass(frozen=True)
class Choice:
    """The options of a model that did best, and the dev metric of every candidate by dataset."""

    model: str
    best: Values
    metrics: tuple[tuple[Values, Mapping[str, float]], ...]


def choose_defaults(
    records: PanelRecords,
    out: Path,
    executor: Executor,
    reporter: ProgressReporter,
    models: Sequence[str] | None = None,
    *,
    finished: bool = False,
) -> tuple[list[Choice], list[Failed]]:
    """Train every candidate of every model on three datasets, and the better half on the others.

    Candidates are compared by their mean rank on dev; test is not measured. With `finished`, nothing is trained.
    """
    choices, failures = [], []
    for model in models or [name for name in MODELS if name not in UNTRAINED]:
        candidates = _candidates(model)
        for datasets in (FIRST, PANEL):
            runs = [_run(model, dataset, each) for dataset in datasets for each in candidates]
            if not finished:
                failures += run_panel(runs, records, out, executor, reporter, measure_test=False)
            ranks = _mean_ranks(model, candidates, datasets, records)
            candidates = [candidates[i] for i in np.argsort(ranks, kind="stable")[: max(1, len(candidates) // 2)]]
        tried = tuple((each, _metrics(model, each, PANEL, records)) for each in _candidates(model))
        choices.append(Choice(model, candidates[0], tried))
    return choices, failures


def defaults_report(choices: Sequence[Choice]) -> str:
    """The dev metrics of all candidates that were run as a table; the chosen one of each finished model is marked."""
    rows = []
    for choice in choices:
        for options, metrics in choice.metrics:
            if not metrics:
                continue
            chosen = "**chosen**" if options == choice.best and len(metrics) == len(PANEL) else ""
            values = [f"{metrics[name]:.3f}" if name in metrics else "" for name in PANEL]
            rows.append([choice.model, ", ".join(f"{k}={v}" for k, v in options.items()), *values, chosen])
    return markdown_table(["model", "options", *PANEL, ""], rows, "ll" + "r" * len(PANEL) + "l")


def _candidates(model: str) -> list[Values]:
    """The candidates that make a difference: vectors can be frozen only where a model has them."""
    kind = model_class(model)
    if kind.inputs.pretrained_vectors or kind.inputs.input_kind == "subwords":
        return list(CANDIDATES)
    return [each for each in CANDIDATES if each["freeze"]]


def _run(model: str, dataset: str, options: Values) -> PanelRun:
    return PanelRun(dataset, CUT, RunSpec(model, 1, with_seed(model, {}, 1), options))


def _metrics(model: str, options: Values, datasets: Sequence[str], records: PanelRecords) -> dict[str, float]:
    found = records.of([_run(model, dataset, options) for dataset in datasets])
    return {result.dataset: result.dev["model"] for result in found}


def _mean_ranks(
    model: str, candidates: Sequence[Values], datasets: Sequence[str], records: PanelRecords
) -> list[float]:
    """The mean over datasets of each candidate's rank by its dev metric; without a result, the last rank."""
    metrics = [_metrics(model, each, datasets, records) for each in candidates]
    ranks = []
    for dataset in datasets:
        values = [found.get(dataset, -np.inf) for found in metrics]
        ranks.append([1 + sum(other > value for other in values) for value in values])
    return np.mean(ranks, 0).tolist()
