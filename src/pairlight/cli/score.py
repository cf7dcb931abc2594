"""`pairlight score`: score every pair of a file."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairlight.cli.options import Columns, Model, Threads, with_columns
from pairlight.cli.process import configure_process
from pairlight.core.errors import InputError
from pairlight.core.progress import progress_reporter

if TYPE_CHECKING:
    from pairlight.data.source_table import SourceTable

PROBABILITY, PREDICTED_LABEL = "probability", "predicted_label"  # columns that are added on request


@with_columns(label=False)
def score(
    model: Model,
    pairs: Annotated[str, typer.Argument(help="File of pairs (.tsv, .csv, .jsonl, .parquet); labels are not needed.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write to this file (.tsv, .csv, .jsonl or .parquet) instead of printing TSV."),
    ] = None,
    probability: Annotated[bool, typer.Option("--probability", help="Add calibrated probabilities.")] = False,
    as_label: Annotated[
        bool, typer.Option("--as-label", help="Add the predicted label, on the scale of the labels of dev.")
    ] = False,
    score_column: Annotated[str, typer.Option("--score-column", help="Name of the column for the scores.")] = "score",
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of TSV.")] = False,
    *,
    columns: Columns,
) -> None:
    """Score every pair of a file.

    The result has all columns and rows of the file in their order, and the scores as one more column.
    """
    from pairlight.data.source_table import OUTPUT_FORMATS

    if out is not None and as_json:
        raise InputError(f"--json prints the scores and --out {out} writes them to a file: give one of the two.")
    if out is not None and out.suffix.removeprefix(".") not in OUTPUT_FORMATS:
        raise InputError(f"{out} has an unknown extension: use .tsv, .csv, .jsonl or .parquet.", option="out")
    from pairlight.matcher import Matcher

    configure_process(threads)
    matcher = Matcher.load(model)
    with progress_reporter() as reporter:
        read, table = columns.read_with_table(pairs, reporter)
        wanted = {"probability": PROBABILITY} if probability else {}
        wanted |= {"as_label": PREDICTED_LABEL} if as_label else {}
        _check_names(pairs, table, score_column, wanted)
        reporter.update("Scoring", 0.0)
        added = {score_column: matcher.predict(read).tolist()}
        if probability:
            added[PROBABILITY] = matcher.predict(read, as_probability=True).tolist()
        if as_label:
            added[PREDICTED_LABEL] = matcher.predict(read, as_label=True).tolist()
    scored = table.with_columns(added)
    if out is not None:
        scored.write(out)
        print(f"Wrote the scores of {len(read):,} pairs to {out}")
        return
    sys.stdout.writelines(scored.text("jsonl" if as_json else "tsv"))


def _check_names(source: str, table: "SourceTable", score_column: str, wanted: dict[str, str]) -> None:
    """Raise an InputError if the file has a column with the name of one that is added."""
    if score_column in table.names:
        raise InputError(
            f"{source} has a column {score_column!r} already: choose another name for the scores.",
            option="score_column",
        )
    for option, name in wanted.items():
        if name in (*table.names, score_column):
            raise InputError(
                f"{source} has a column {name!r} already: rename it, or remove this option.", option=option
            )
