"""An experiment runs cell by cell, on one data set after the other, and becomes a table beside the paper's."""

import hashlib
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from pairlight.experiments.compare import Cell, compare, specs_of_seeds
from pairlight.core.errors import InputError
from pairlight.evaluation.significance import paired_bootstrap, paired_t
from pairlight.models import checked, model_class
from pairlight.models.base import defaults
from pairlight.experiments.spec import BY_LABELS, every_epoch, with_lists
from pairlight.experiments.sources import SOURCES, build, card_of, parts_of
from pairlight.experiments.papers import Experiment, On, Row
from pairlight.training.config import TrainingConfig

SMALL_EPOCHS, SMALL_PATIENCE = 5, 2

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
    failed: Callable[[Cell, InputError], None],
) -> list[dict[str, Any]]:
    """The whole table of each data set: `rows` are trained on the sets `on`; of the rest, what `out` holds is told.

    All data is made before anything is trained. Finished cells are kept by the bytes of the data they were trained on.
    Every row is trained once before any is trained again, so that a run that is stopped has a whole table.
    """
    for each in on:
        build(each.data, scale, out, partial(making, each.data))
    tables = []
    sets = [each for each in experiment.on if card_of(each.data, scale, out)]
    for number, each in enumerate(sets):
        trained = {row.label for row in rows} if each in on else set()
        card = card_of(each.data, scale, out)
        bytes_of = hashlib.sha256(json.dumps(card["parts"], sort_keys=True).encode()).hexdigest()[:8]
        folder = out / "cells" / f"{each.data}-{scale}-{bytes_of}"
        here = [each.trained(row) for row in experiment.rows]
        cells = {
            row.label: specs_of_seeds(partial(_cell, row, scale), folder, seeds if row.label in trained else 0)
            for row in here
        }
        wanted = [cell for turn in zip_longest(*cells.values()) for cell in turn if cell]
        if not wanted:
            continue
        found = compare(
            parts_of(each.data, scale, out) if trained else {},
            wanted,
            folder,
            jobs=jobs,
            done=lambda cell, result, share, each=each, number=number: done(  # type: ignore[misc]
                each, cell, result, (number + share) / len(sets)
            ),
            failed=failed,
            work=every_epoch if experiment.every_epoch else with_lists,
        )
        always = BY_LABELS if experiment.every_epoch else {}
        runs = {label: [found[cell.name] for cell in some if cell.name in found] for label, some in cells.items()}
        tables.append(
            {
                "data": each.data,
                "about": SOURCES[each.data].about,
                "instead": each.instead,
                "sizes": {part: {k: facts[k] for k in ("pairs", "lists")} for part, facts in card["parts"].items()},
                "protocol": card["protocol"],
                "metrics": list(each.metrics),
                "baseline": each.baseline,
                "rows": [
                    _row(row, _options(row, scale) | always, runs[row.label], each, runs[each.baseline]) for row in here
                ],
            }
        )
    return tables


def _options(row: Row, scale: str) -> dict[str, Any]:
    if scale == "full":
        return dict(row.options)
    epochs = min(SMALL_EPOCHS, row.options.get("epochs", SMALL_EPOCHS))
    return dict(row.options) | {"epochs": epochs, "patience": SMALL_PATIENCE}


def _cell(row: Row, scale: str, seed: int) -> Cell:
    own = {"seed": seed} if "seed" in defaults(model_class(row.model)) else {}
    return Cell(row.model, seed, checked(row.model, dict(row.settings) | own), _options(row, scale))


def _row(
    row: Row, options: dict[str, Any], runs: list[dict[str, Any]], on: On, baseline: list[dict[str, Any]]
) -> dict[str, Any]:
    ours = {name: [run["test"][name] for run in runs if name in run["test"]] for name in on.metrics}
    found: dict[str, Any] = {
        "label": row.label,
        "model": row.model,
        "settings": dict(row.settings),
        "options": TrainingConfig.of(model_class(row.model).training_defaults, options).as_dict(),
        "seeds": len(runs),
        "paper": {name: row.paper.get(name) for name in on.metrics},
        "ours": {name: statistics.mean(values) if values else None for name, values in ours.items()},
        "spread": {name: statistics.pstdev(values) if values else None for name, values in ours.items()},
        "seconds": [run["seconds"] for run in runs],
        "curves": [run["curve"] for run in runs],
        "against": None,
    }
    if baseline and row.label != on.baseline:
        main = on.metrics[0]
        a, b = (_means(some, main) for some in (runs, baseline))
        if a is not None and b is not None and len(a) > 1:
            found["against"] = {"t": asdict(paired_t(a, b)), "bootstrap": asdict(paired_bootstrap(a, b))}
    return found


def _means(runs: list[dict[str, Any]], metric: str) -> Any:
    """The value of each list, its mean over seeds."""
    values = [run["per_list"].get(metric) for run in runs]
    return None if not values or None in values else np.mean(values, axis=0)
