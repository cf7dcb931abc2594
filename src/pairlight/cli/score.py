"""`pairlight score`: score every pair of a file, or of a folder of Parquet files."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairlight.cli.blocks import run_blocks
from pairlight.cli.options import Cluster, Columns, Model, Threads, check_not_input, with_columns
from pairlight.cli.process import configure_process
from pairlight.core.errors import InputError
from pairlight.core.progress import progress_reporter
from pairlight.core.terminal import printable

if TYPE_CHECKING:
    from pairlight.batch.score import ScoreJob
    from pairlight.data.source_table import SourceTable


@with_columns(label=False)
def score(
    model: Model,
    pairs: Annotated[
        str,
        typer.Argument(
            help="File of pairs (.tsv, .csv, .jsonl, .parquet), or Parquet files: a folder, a glob or a URL. Labels "
            "are not needed."
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            help="Write to this file (.tsv, .csv, .jsonl or .parquet) instead of printing TSV; for Parquet files, to "
            "this folder or URL.",
        ),
    ] = None,
    probability: Annotated[bool, typer.Option("--probability", help="Add calibrated probabilities.")] = False,
    as_label: Annotated[
        bool, typer.Option("--as-label", help="Add the predicted label, on the scale of the labels of dev.")
    ] = False,
    score_column: Annotated[str, typer.Option("--score-column", help="Name of the column for the scores.")] = "score",
    cluster: Cluster = None,
    threads: Threads = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON lines instead of TSV, or the report of a folder as JSON.")
    ] = False,
    *,
    columns: Columns,
) -> None:
    """Score every pair of a file.

    The result has all columns and rows of the file in their order, and the scores as one more column. A file is read
    and written in parts, so it may be larger than memory.

    Where --out is a folder, every block of the Parquet files becomes a file there; rows that cannot be scored go to
    its subfolder _bad. Run the same command again to continue after it was stopped.
    """
    from pairlight.batch.score import ScoreJob
    from pairlight.core.storage import is_folder
    from pairlight.data.blocks import PARQUET
    from pairlight.data.source_table import OUTPUT_FORMATS

    job = ScoreJob(str(model), out or "", columns.left, columns.right, score_column, probability, as_label)
    suffix = "" if out is None else Path(out).suffix.removeprefix(".")
    if cluster is not None or is_folder(pairs) or (pairs.lower().endswith(PARQUET) and out is not None and not suffix):
        if out is None or suffix in OUTPUT_FORMATS:
            raise InputError("Give a folder for the scores of Parquet files.", option="out")
        _score_blocks(job, pairs, cluster, threads, as_json)
        return
    if out is not None and as_json:
        raise InputError(f"--json prints the scores and --out {out} writes them to a file: give one of the two.")
    if out is not None and suffix not in OUTPUT_FORMATS:
        raise InputError(f"{out} has an unknown extension: use .tsv, .csv, .jsonl or .parquet.", option="out")
    if out is not None:
        check_not_input(out, pairs)
    kind = suffix or ("jsonl" if as_json else "tsv")
    count = 0

    def scored() -> "Iterator[SourceTable]":
        from pairlight.core.notes import first_of_each_kind
        from pairlight.data.blocks import ROWS
        from pairlight.data.source_table import reads_whole
        from pairlight.matcher import Matcher

        nonlocal count
        configure_process(threads)
        matcher = Matcher.load(model)
        warned: set[str] = set()
        with progress_reporter() as reporter:
            for read, table in columns.read_with_tables(pairs, reporter, None if reads_whole(pairs, kind) else ROWS):
                _check_names(pairs, table.names, job)
                reporter.update("Scoring", 0.0, f"{count:,} pairs")
                with first_of_each_kind(warned):
                    added = job.predict(matcher, read)
                count += len(read)
                yield table.with_columns({name: values.tolist() for name, values in added.items()})

    if out is not None:
        from pairlight.data.source_table import write_tables

        write_tables(Path(out), scored())
        print(f"Wrote the scores of {count:,} pairs to {out}")
        return
    for number, table in enumerate(scored()):
        lines = table.text(kind, header=number == 0)
        sys.stdout.writelines(map(printable, lines) if sys.stdout.isatty() else lines)


def _score_blocks(job: "ScoreJob", source: str, cluster: str | None, threads: int | None, as_json: bool) -> None:
    from dataclasses import replace

    from pairlight.data.blocks import open_parquet, plan_blocks
    from pairlight.data.columns import Column, TableColumns

    configure_process(threads)
    columns = TableColumns([Column("left", job.left), Column("right", job.right)])
    blocks = plan_blocks(source, columns)
    job = replace(job, left=columns.used["left"], right=columns.used["right"])
    with open_parquet(blocks[0].path) as file:
        _check_names(source, file.schema_arrow.names, job)
    run_blocks(job, blocks, cluster, as_json, "Wrote the scores of {:,} pairs to " + job.out)


def _check_names(source: str, names: list[str], job: "ScoreJob") -> None:
    """Raise an InputError if the file has a column with the name of one that is added."""
    from pairlight.batch.score import PROBABILITY

    if job.score_column in names:
        raise InputError(
            f"{source} has a column {job.score_column!r} already: choose another name for the scores.",
            option="score_column",
        )
    for name in job.columns[1:]:
        if name in (*names, job.score_column):
            raise InputError(
                f"{source} has a column {name!r} already: rename it, or remove this option.",
                option="probability" if name == PROBABILITY else "as_label",
            )
