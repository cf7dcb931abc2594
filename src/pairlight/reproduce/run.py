"""An experiment runs cell by cell, on one data set after the other, and becomes a table beside the paper's."""

import hashlib
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from pairlight.compare import Cell, compare
from pairlight.errors import InputError
from pairlight.evaluation.significance import paired_bootstrap, paired_t
from pairlight.models import checked, model_named
from pairlight.models.base import defaults
from pairlight.reproduce.cells import every_epoch, with_lists
from pairlight.reproduce.data import SOURCES, prepared
from pairlight.reproduce.experiments import Experiment, On, Row

SMALL: dict[str, Any] = {"epochs": 5, "patience": 2}

Told = Callable[[On, Cell, dict[str, Any], float], None]


def chosen_rows(experiment: Experiment, models: str | None) -> list[Row]:
    """The rows that `models` names, by label or by model, with commas between them; all where it names none."""
    if models is None:
        return list(experiment.rows)
    wanted = [name.strip().lower() for name in models.split(",")]
    names = {name for row in experiment.rows for name in (row.label.lower(), row.model)}
    for name in wanted:
        if name not in names:
            listed = ", ".join(row.label for row in experiment.rows)
            raise InputError(f"--models: no row is named {name!r}. The rows are: {listed}.")
    return [row for row in experiment.rows if row.label.lower() in wanted or row.model in wanted]


def chosen_data(experiment: Experiment, data: str | None) -> list[On]:
    """The data sets that `data` names; all where it names none."""
    if data is None:
        return list(experiment.on)
    wanted = [name.strip() for name in data.split(",")]
    for name in wanted:
        if name not in {on.data for on in experiment.on}:
            raise InputError(f"--data: no {name!r} here. The data are: {', '.join(on.data for on in experiment.on)}.")
    return [on for on in experiment.on if on.data in wanted]


def run(
    experiment: Experiment,
    rows: Sequence[Row],
    on: Sequence[On],
    out: Path,
    *,
    scale: str,
    seeds: int,
    jobs: int,
    making: Callable[[str, float], None],
    done: Told,
) -> list[dict[str, Any]]:
    """The table of each data set. Finished cells are kept in `out`, by the bytes of the data they were trained on."""
    tables = []
    for number, each in enumerate(on):
        parts, card = prepared(each.data, scale, out, lambda share, each=each: making(each.data, share))  # type: ignore[misc]
        bytes_of = hashlib.sha256(json.dumps(card["parts"], sort_keys=True).encode()).hexdigest()[:8]
        cells = {row.label: _cells(row, scale, seeds) for row in rows}
        results = compare(
            parts,
            [cell for some in cells.values() for cell in some],
            out / "cells" / f"{each.data}-{scale}-{bytes_of}",
            jobs=jobs,
            done=lambda cell, result, share, each=each, number=number: done(  # type: ignore[misc]
                each, cell, result, (number + share) / len(on)
            ),
            work=every_epoch if experiment.every_epoch else with_lists,
        )
        runs = {row.label: results[at * seeds : (at + 1) * seeds] for at, row in enumerate(rows)}
        tables.append(
            {
                "data": each.data,
                "about": SOURCES[each.data].about,
                "instead": each.instead,
                "sizes": {part: {k: facts[k] for k in ("pairs", "lists")} for part, facts in card["parts"].items()},
                "protocol": card["protocol"],
                "metrics": list(each.metrics),
                "baseline": each.baseline,
                "rows": [_row(row, runs[row.label], each, runs.get(each.baseline)) for row in rows],
            }
        )
    return tables


def _cells(row: Row, scale: str, seeds: int) -> list[Cell]:
    options = dict(row.options) | (SMALL if scale == "small" else {})
    own = "seed" in defaults(model_named(row.model))
    return [
        Cell(row.model, seed, checked(row.model, dict(row.settings) | ({"seed": seed} if own else {})), options)
        for seed in range(1, seeds + 1)
    ]


def _row(row: Row, runs: list[dict[str, Any]], on: On, baseline: list[dict[str, Any]] | None) -> dict[str, Any]:
    ours = {name: [run["test"].get(name) for run in runs] for name in on.metrics}
    found: dict[str, Any] = {
        "label": row.label,
        "model": row.model,
        "settings": dict(row.settings),
        "options": runs[0]["options"],
        "seeds": len(runs),
        "paper": {name: row.paper.get(name) for name in on.metrics},
        "ours": {name: None if None in values else statistics.mean(values) for name, values in ours.items()},
        "spread": {name: None if None in values else statistics.pstdev(values) for name, values in ours.items()},
        "train_seconds": statistics.mean(run["train_seconds"] for run in runs),
        "curves": [run["curve"] for run in runs],
        "against": None,
    }
    if baseline is not None and row.label != on.baseline:
        main = on.metrics[0]
        a, b = (_means(some, main) for some in (runs, baseline))
        if a is not None and b is not None and len(a) > 1:
            found["against"] = {"t": asdict(paired_t(a, b)), "bootstrap": asdict(paired_bootstrap(a, b))}
    return found


def _means(runs: list[dict[str, Any]], metric: str) -> Any:
    """The value of each list, its mean over seeds."""
    values = [run["per_list"].get(metric) for run in runs]
    return None if None in values else np.mean(values, axis=0)
