"""`pairlight reproduce`: a paper's table with our numbers beside the paper's."""

import difflib
import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from pairlight.cli import common
from pairlight.experiments.curves import need_pictures
from pairlight.core.errors import InputError
from pairlight.core.progress import progress_reporter

LCS = "match-srnn-lcs"
LCS_TITLE = "Section 5 and figure 4 of the Match-SRNN paper: counting longest common subsequences"


def reproduce(
    name: Annotated[str, typer.Argument(help="Which experiment; `list` tells them all.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for results, data and finished cells.")] = Path(
        "reproduced"
    ),
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="How often each model is trained: 1 small, 3 full, 5 for LCS.")
    ] = None,
    models: Annotated[
        str | None, typer.Option("--models", help="Train only these rows, with commas between them.")
    ] = None,
    data: Annotated[str | None, typer.Option("--data", help="Train only on these, with commas between them.")] = None,
    scale: Annotated[str, typer.Option("--scale", help="small: minutes; full: the whole protocol.")] = "small",
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Models trained at the same time, one core each.")] = (
        os.cpu_count() or 1
    ),
    finished: Annotated[bool, typer.Option("--finished", help="Train nothing: tell of what is finished.")] = False,
    as_json: common.Json = False,
) -> None:
    """Run a paper's experiment; what is done stays done when it is stopped and run again.

    The tables are always whole: they tell of all that is finished in the folder, whichever run trained it.
    """
    from pairlight.experiments.papers import EXPERIMENTS

    titles = {each: found.title for each, found in EXPERIMENTS.items()} | {LCS: LCS_TITLE}
    if name == "list":
        if as_json:
            common.print_json(titles)
            return
        for each, title in titles.items():
            print(f"{each:16} {title}")
        return
    if scale not in ("small", "full"):
        raise InputError(f"--scale {scale!r} is neither small nor full: give one of these.")
    if name not in titles:
        near = difflib.get_close_matches(name, titles, 1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"There is no experiment named {name!r}.{meant} The experiments are: {', '.join(titles)}.")
    if finished and (models is not None or data is not None):
        raise InputError("--finished trains nothing and tells of all that is there: leave --models and --data out.")
    if name == LCS:
        if models is not None or data is not None or finished:
            raise InputError(f"{LCS} has one model and data of its own: leave --models, --data and --finished out.")
        _lcs(out, seeds or 5, scale, jobs, as_json)
    else:
        _table(name, out, seeds or (1 if scale == "small" else 3), models, data, scale, jobs, finished, as_json)


def _table(
    name: str,
    out: Path,
    seeds: int,
    models: str | None,
    data: str | None,
    scale: str,
    jobs: int,
    finished: bool,
    as_json: bool,
) -> None:
    from pairlight.experiments.papers import EXPERIMENTS
    from pairlight.experiments.report import write_report
    from pairlight.experiments.reproduce import chosen_data, chosen_rows, run

    started = time.perf_counter()
    experiment = EXPERIMENTS[name]
    rows, on = ([], []) if finished else (chosen_rows(experiment, models), chosen_data(experiment, data))
    need_pictures()
    with progress_reporter() as show:
        common.warnings_as_lines(show)
        trainings = common.Trainings(show)
        if not finished:
            planned = f"{len(rows)} rows x {len(on)} data sets x {seeds} seeds, {jobs} at a time"
            show.say(f"{planned}; cells are kept in {out}/cells.")

        def done(where: Any, cell: Any, result: dict[str, Any], share: float) -> None:
            figures = ", ".join(f"{each} {result['dev'][each]:.3f}" for each in where.metrics if each in result["dev"])
            told = f"{where.data}, {cell.model} seed {cell.seed}: dev {figures}, {result['seconds']:.0f} s"
            trainings.done(told, result)
            show.share("All cells", share)

        tables = run(
            experiment,
            rows,
            on,
            out,
            scale=scale,
            seeds=seeds,
            jobs=jobs,
            making=lambda each, share: show.share(f"Making {each}", share),
            done=done,
            failed=trainings.failed,
        )
    if not tables:
        trainings.check()
        raise InputError(f"Nothing of {name} is finished in {out} at scale {scale}: run it without --finished.")
    text = write_report(out, name, experiment.title, tables, scale, common.command_line())
    if as_json:
        common.print_json(tables)
    else:
        _tell(text, out / f"{name}-{scale}", started)
    trainings.check()


def _lcs(out: Path, seeds: int, scale: str, jobs: int, as_json: bool) -> None:
    from pairlight.experiments.lcs import LENGTHS
    from pairlight.experiments.lcs import reproduce as run
    from pairlight.experiments.lcs_report import write_report

    started = time.perf_counter()
    need_pictures()
    with progress_reporter() as show:
        trainings = common.Trainings(show)
        show.say(
            f"{len(LENGTHS)} kinds of sequences x {seeds} starts, {jobs} at a time; cells are kept in {out}/cells."
        )

        def done(kind: str, cell: Any, result: dict[str, Any], share: float) -> None:
            error = f"test error {result['test']['error']:.4f}"
            trainings.done(f"{kind}, start {cell.seed}: {error}, {result['seconds']:.0f} s", result)
            show.share(kind, share)

        found = run(out, seeds=seeds, jobs=jobs, small=scale == "small", done=done, failed=trainings.failed)
    text = write_report(out, found, scale, common.command_line())
    if as_json:
        common.print_json(found)
    else:
        _tell(text, out / f"{LCS}-{scale}", started)
    trainings.check()


def _tell(text: str, report: Path, started: float) -> None:
    print(text)
    print(f"Written to {report}.md, .html, .json and pictures in {time.perf_counter() - started:.0f} s.")
