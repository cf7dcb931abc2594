"""`pairlight tune`: search for the settings and training options that suit a model best."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from pairlight.cli.options import (
    MAX_COUNT,
    Cluster,
    Columns,
    Json,
    Threads,
    parse_settings,
    with_columns,
    with_training_options,
)
from pairlight.cli.output import print_json
from pairlight.cli.process import configure_process
from pairlight.core.progress import progress_reporter


@with_training_options
@with_columns(folder=True)
def tune(
    data: Annotated[str, typer.Argument(help="File of pairs, or a named dataset.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the study and the best settings.")],
    model: Annotated[str, typer.Option("--model", help="Name of the model.")] = "mv-lstm",
    trials: Annotated[int, typer.Option("--trials", min=1, max=MAX_COUNT, help="Total number of trials.")] = 20,
    choices: Annotated[
        list[str] | None,
        typer.Option("--try", metavar="NAME=VALUES", help="Values of a setting to choose from, for example k=1,3,5."),
    ] = None,
    dev: Annotated[str | None, typer.Option("--dev", help="Pairs that trials are evaluated on.")] = None,
    cluster: Cluster = None,
    threads: Threads = None,
    as_json: Json = False,
    *,
    columns: Columns,
    options: dict[str, Any],
) -> None:
    """Search for the settings that do best on dev.

    The learning rate, the initial scale and the settings given by --try are searched; options that are given are fixed.
    Run the same command again to continue a search that was stopped. With --cluster, trials run in parallel, and those
    that fall behind are stopped early.
    """
    values = {name: value.split(",") for name, value in parse_settings(choices, "choices").items()}
    columns.check(data, dev)
    with progress_reporter() as reporter:
        splits, options = columns.read_training(data, dev, None, options, reporter)
        from pairlight.experiments.tune import SETTINGS_FILE
        from pairlight.experiments.tune import tune as run

        configure_process(threads)
        search = None
        if cluster is not None:
            from pairlight.cluster.tune import ray_search

            search = ray_search(cluster, out)
        best = run(
            splits["train"],
            splits.get("dev"),
            model,
            out,
            trials=trials,
            choices=values,
            options=options,
            search=search,
            reporter=reporter,
        )
    if as_json:
        print_json(best.as_dict())
        return
    for name, found in (("settings", best.settings), ("options", best.options), ("dev", best.dev)):
        print(f"{name:9}" + ("  ".join(f"{key}={value}" for key, value in found.items()) or "the defaults"))
    flags = [*columns.flags(), *(["--dev", dev] if dev else [])]
    hint = shlex.join(["pairlight", "train", data, *flags, "--settings", str(out / SETTINGS_FILE), "--out", "MODEL"])
    print(f"Best of {best.trials} trials. Train it with: {hint}")
