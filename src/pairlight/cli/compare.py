"""`pairlight compare`: models side by side on the same data."""

import json
import os
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from pairlight.cli import common
from pairlight.cli.train import with_options
from pairlight.experiments.curves import draw_curves
from pairlight.data.pairs import Pairs
from pairlight.data.splits import split
from pairlight.core.errors import InputError
from pairlight.core.files import write_text
from pairlight.core.progress import ProgressReporter, progress_reporter
from pairlight.datasets.catalogue import SETS
from pairlight.experiments.dataset_settings import PAPERS
from pairlight.training.config import TrainingConfig

Results = list[dict[str, Any]]
_KINDS = {"ranking": "ranking lists", "pairs": "labelled pairs"}


@with_options
def compare(
    data: Annotated[str, typer.Argument(help="A file of pairs or a named set.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the leaderboard and its cells.")],
    models: Annotated[str, typer.Option("--models", help="Names with commas between them, or all.")] = "all",
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds each model is trained with.")] = 3,
    dev: Annotated[str | None, typer.Option("--dev", help="Pairs that choose the best epoch.")] = None,
    test: Annotated[str | None, typer.Option("--test", help="Pairs that models are measured on.")] = None,
    left: common.Left = "left",
    right: common.Right = "right",
    label: common.Label = "label",
    left_id: common.LeftId = "left_id",
    right_id: common.RightId = "right_id",
    skip_bad_rows: common.SkipBadRows = False,
    folder: common.Folder = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Models trained at the same time, one core each.")] = (
        os.cpu_count() or 1
    ),
    as_json: common.Json = False,
    **options: Any,
) -> None:
    """Train models on the same data and rank them; what is done stays done when it is stopped and run again."""
    given = {name: value for name, value in options.items() if value is not None}
    wanted = TrainingConfig.of({}, given)
    from pairlight.experiments.compare import Cell, as_html, as_markdown, kept, leaderboard, planned
    from pairlight.experiments.compare import compare as run
    from pairlight.experiments.disagreements import write_pages
    from pairlight.models import MODELS
    from pairlight.training.examples import with_mined_negatives

    names = list(MODELS) if models == "all" else [name.strip() for name in models.split(",")]
    first = given.pop("seed", 1)
    cells = [planned(data, name, seed, given) for name in names for seed in range(first, first + seeds)]
    columns = common.Columns(left, right, label, left_id, right_id, skip_bad_rows)
    columns.check([data, dev, test], folder)
    started, fresh = time.perf_counter(), 0
    with progress_reporter() as show:
        common.warnings_as_lines(show)
        if data in SETS:
            if dev or test:
                raise InputError(f"The set {data} has its own dev and test part: leave --dev and --test out.")
            parts = common.named(data, folder, show)
        else:
            parts = _parts(columns.read(data, show), dev and columns.read(dev, show), test and columns.read(test, show))
        parts |= {part: with_mined_negatives(parts[part], wanted) for part in ("dev", "test")}
        metric = _metric(parts, given.get("metric", "auto"))
        _claim(out, parts)
        show.say(f"{len(names)} models x {seeds} seeds, {jobs} at a time; finished cells are kept in {out / 'cells'}.")

        trainings = common.Trainings(show)

        def done(cell: Cell, result: dict[str, Any], share: float) -> None:
            nonlocal fresh
            fresh += 1
            figure = f"dev {metric} {result['dev'][metric]:.4f}"
            trainings.done(f"{cell.model} seed {cell.seed}: {figure}, {result['seconds']:.0f} s", result)
            show.share("Comparing", share, f"{fresh} of {len(cells)} cells")

        results = list(
            run(
                parts,
                cells,
                out / "cells",
                jobs=jobs,
                done=done,
                failed=trainings.failed,
                work=partial(kept, out / "models", first),
            ).values()
        )
        if not results:
            trainings.check()
        rows = leaderboard(results, metric, PAPERS.get(data, {}))
        models_of = {cell.model: out / "models" / cell.name for cell in cells if cell.seed == first}
        told = write_pages(
            out / "disagreements",
            [models_of[row["model"]] for row in rows],
            parts["test"],
            lambda share: show.share("Explaining disagreements", share),
        )
        for row, each in zip(rows[1:], told, strict=True):
            row["disagreements"] = each and each | {"page": f"disagreements/{each['page']}"}
            if each is None:
                show.say(
                    f"{row['model']}: no model was kept, so no disagreements; without its cell it is trained anew."
                )
        curves = _drawn(out / "curves.png", rows, results, metric, show)
    caption = (
        f"{data}: test {metric}, mean ± spread of {seeds} seeds, best epoch chosen on dev. "
        f"Made by `{common.command_line()}`."
    )
    write_text(out / "leaderboard.md", as_markdown(rows, metric, caption, curves))
    write_text(out / "leaderboard.html", as_html(rows, metric, caption, curves))
    common.write_json(
        out / "leaderboard.json", {"data": data, "metric": metric, "command": common.command_line(), "rows": rows}
    )
    if as_json:
        common.print_json(rows)
    else:
        print(as_markdown(rows, metric, caption, curves))
        print(f"Written to {out}/leaderboard.md, .html and .json in {time.perf_counter() - started:.0f} s.")
    trainings.check()


def _metric(parts: dict[str, Pairs], wanted: str) -> str:
    """What models are ranked by, once it is clear that dev and test can be measured by it."""
    from pairlight.evaluation.evaluate import evaluate_scores, task_type, default_metric

    both = parts["dev"], parts["test"]
    for name, part in zip(("dev", "test"), both, strict=True):
        common.check_measurable(part, f"the {name} part")
    kinds = [_KINDS[task_type(part)] for part in both]
    if kinds[0] != kinds[1]:
        told = f"dev of {kinds[0]} and test of {kinds[1]}"
        raise InputError(f"Models are measured alike on dev and test, and here {told}: give two of one kind.")
    dev, test = (list(evaluate_scores(part, [0.0] * len(part), threshold=0.0).metrics) for part in both)
    fit = [metric for metric in dev if metric in test]
    asked = [default_metric(part) for part in both] if wanted == "auto" else [wanted]
    for metric in asked:
        if metric in fit:
            return metric
    raise InputError(f"--metric {asked[0]} does not measure {kinds[0]}: give one of {', '.join(fit)}.")


def _claim(out: Path, parts: dict[str, Pairs]) -> None:
    """Make sure that what `out` holds is of the same data."""
    digests = {part: pairs.digest() for part, pairs in parts.items()}
    file = out / "data.json"
    if (out / "cells").is_dir() and any((out / "cells").iterdir()):
        try:
            known = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            known = None
        if known != digests:
            raise InputError(f"{out} holds a leaderboard of other data: give another folder to --out.")
    common.write_json(file, digests)


def _drawn(path: Path, rows: Results, results: Results, metric: str, show: ProgressReporter) -> Path | None:
    """The learning curves of every cell, where something was learnt and there is matplotlib."""
    curves: dict[str, list[Any]] = {row["model"]: [] for row in rows}
    for result in results:
        curves[result["model"]].append(result.get("curve", []))  # cells of old folders have none
    path.unlink(missing_ok=True)
    try:
        draw_curves(path, curves, metric)
    except InputError as error:
        show.say(f"No learning curves. {error}")
    return path if path.exists() else None


def _parts(train: Any, dev: Any, test: Any) -> dict[str, Any]:
    """Train, dev and test; what was not given is split off, whole lists at a time."""
    if test is None:
        if dev is not None:
            raise InputError("compare needs --test beside --dev: give both, or neither for a split of 8:1:1.")
        return dict(zip(("train", "dev", "test"), split(train), strict=True))
    if dev is None:
        train, dev = split(train, (0.9, 0.1))
    return {"train": train, "dev": dev, "test": test}
