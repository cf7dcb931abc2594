"""`pairlight reproduce`: a paper's table with our numbers beside the paper's."""

import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from pairlight.cli import common
from pairlight.errors import InputError
from pairlight.progress import showing

LCS = "match-srnn-lcs"


def reproduce(
    name: Annotated[str, typer.Argument(help="Which experiment; `list` tells them all.")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the results and the finished cells.")] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="How often each model is trained.")] = None,
    scale: Annotated[str, typer.Option("--scale", help="small: minutes; full: the whole protocol.")] = "small",
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Models trained at the same time, one core each.")] = (
        os.cpu_count() or 1
    ),
    as_json: common.Json = False,
) -> None:
    """Run a paper's experiment; what is done stays done when it is stopped and run again."""
    if scale not in ("small", "full"):
        raise InputError(f"--scale {scale!r} is neither small nor full.")
    if name == LCS:
        _lcs(out or Path(name), seeds or 5, scale, jobs, as_json)
    else:
        raise InputError(f"There is no experiment named {name!r}: `pairlight reproduce list` tells them all.")


def _lcs(out: Path, seeds: int, scale: str, jobs: int, as_json: bool) -> None:
    from pairlight.reproduce.lcs import LENGTHS
    from pairlight.reproduce.lcs import reproduce as run
    from pairlight.reproduce.lcs_report import write_report

    started = time.perf_counter()
    with showing() as show:
        show.say(
            f"{len(LENGTHS)} kinds of sequences x {seeds} starts, {jobs} at a time; cells are kept in {out}/cells."
        )

        def done(kind: str, cell: Any, result: dict[str, Any], share: float) -> None:
            show.say(f"{kind}, start {cell.seed}: test error {result['test']['error']:.4f}, {result['seconds']:.0f} s")
            show.share(kind, share)

        found = run(out, seeds=seeds, jobs=jobs, small=scale == "small", done=done)
    text = write_report(out, found, scale, common.command_line())
    if as_json:
        common.print_json(found)
        return
    print(text)
    print(f"Written to {out}/{LCS}.md, .html, .json and pictures in {time.perf_counter() - started:.0f} s.")
