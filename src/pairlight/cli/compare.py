"""`pairlight compare`: train several models on the same data and make a leaderboard."""

import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from pairlight.cli.options import (
    MAX_JOBS,
    MAX_SEEDS,
    Cluster,
    Columns,
    Json,
    choose_executor,
    parse_settings,
    with_columns,
    with_training_options,
)
from pairlight.cli.output import command_line, print_json
from pairlight.core.errors import InputError
from pairlight.core.progress import progress_reporter


@with_training_options
@with_columns(folder=True)
def compare(
    data: Annotated[str, typer.Argument(help="File of pairs, or a named dataset.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the leaderboard and the runs.")],
    models: Annotated[str, typer.Option("--models", help="Names separated by commas, or all.")] = "all",
    seeds: Annotated[int, typer.Option("--seeds", min=1, max=MAX_SEEDS, help="Number of seeds for each model.")] = 3,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Setting for every model that has it; can be given several times."
        ),
    ] = None,
    dev: Annotated[str | None, typer.Option("--dev", help="Pairs that select the best epoch.")] = None,
    test: Annotated[str | None, typer.Option("--test", help="Pairs that models are evaluated on.")] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, max=MAX_JOBS, help="Number of models to train at a time, one core each.")
    ] = (os.cpu_count() or 1),
    cluster: Cluster = None,
    as_json: Json = False,
    *,
    columns: Columns,
    options: dict[str, Any],
) -> None:
    """Train several models on the same data and rank them.

    Run the same command again to continue after it was stopped: finished runs are kept.
    """
    from pairlight.data.positives import are_positives
    from pairlight.datasets.catalog import DATASETS
    from pairlight.experiments.compare import compare_models, complete_splits, with_settings
    from pairlight.experiments.leaderboard import leaderboard_markdown
    from pairlight.experiments.runner import check_failures
    from pairlight.experiments.spec import RunSpec, plan_runs
    from pairlight.models import MODELS

    started = time.perf_counter()
    names = list(MODELS) if models == "all" else [name.strip() for name in models.split(",")]
    first = options.pop("seed", 1)

    def planned(options: dict[str, Any]) -> list[RunSpec]:
        specs = plan_runs(names, range(first, first + seeds), options)
        return with_settings(specs, parse_settings(settings, "settings"))

    planned(options)  # checks the names before the data are read
    columns.check(data, dev, test)
    if data in DATASETS and (dev or test):
        raise InputError(
            f"The dataset {data} has dev and test splits of its own: remove this option.",
            option="dev" if dev else "test",
        )
    with progress_reporter() as reporter:
        splits, options = columns.read_training(data, dev, test, options, reporter, hold_out=False)
        specs = planned(options)
        if data not in DATASETS:
            least = 2 if are_positives(splits["train"]) else 1  # the negatives of a list come from the others
            splits = complete_splits(splits["train"], splits.get("dev"), splits.get("test"), least=least)
        leaderboard = compare_models(
            splits,
            specs,
            out,
            dataset=data,
            options=options,
            command=command_line(),
            executor=choose_executor(jobs, cluster),
            reporter=reporter,
        )
    if as_json:
        print_json(leaderboard.as_dict()["rows"])
    else:
        print(leaderboard_markdown(leaderboard))
        print(f"Written to {out}/leaderboard.md, .html and .json in {time.perf_counter() - started:.0f} s.")
    check_failures(leaderboard.failures)
