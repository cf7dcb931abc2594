"""`pairlight score`: score every pair of a file."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairlight.cli.options import Columns, Model, Threads, with_columns
from pairlight.cli.process import configure_process
from pairlight.core.errors import InputError
from pairlight.core.files import write_text
from pairlight.core.progress import progress_reporter

if TYPE_CHECKING:
    from pairlight.data.pairs import Pairs
    from pairlight.inference.scorer import Scores

_FORMATS = ("tsv", "csv", "jsonl")


@with_columns(label=False)
def score(
    model: Model,
    pairs: Annotated[str, typer.Argument(help="File of pairs; labels are not needed.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write to this file (.tsv, .csv or .jsonl) instead of printing TSV.")
    ] = None,
    probability: Annotated[bool, typer.Option("--probability", help="Add calibrated probabilities.")] = False,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of TSV.")] = False,
    *,
    columns: Columns,
) -> None:
    """Score every pair of a file, in the order of the file."""
    output_format = "jsonl" if as_json else "tsv"
    if out is not None:
        if as_json:
            raise InputError(f"--json prints the scores and --out {out} writes them to a file: give one of the two.")
        output_format = out.suffix.removeprefix(".")
        if output_format not in _FORMATS:
            raise InputError(f"{out} has an unknown extension: use .tsv, .csv or .jsonl.", option="out")
    from pairlight.matcher import Matcher

    configure_process(threads)
    matcher = Matcher.load(model)
    with progress_reporter() as reporter:
        table = columns.read(pairs, reporter, need_label=False)
        scores = matcher.predict(table)
        probabilities = matcher.predict(table, as_probability=True) if probability else None
    text = "".join(_lines(table, scores, probabilities, output_format))
    if out is None:
        sys.stdout.write(text)
        return
    write_text(out, text)
    print(f"Wrote the scores of {len(table):,} pairs to {out}")


def _lines(pairs: "Pairs", scores: "Scores", probabilities: "Scores | None", output_format: str) -> Iterator[str]:
    columns: dict[str, list[str] | list[float]] = {}
    if pairs.left_id is not None:
        columns["left_id"] = pairs.left_id
    if pairs.right_id is not None:
        columns["right_id"] = pairs.right_id
    columns["left"] = [pairs.texts[number] for number in pairs.left]
    columns["right"] = [pairs.texts[number] for number in pairs.right]
    columns["score"] = scores.tolist()
    if probabilities is not None:
        columns["probability"] = probabilities.tolist()
    if output_format != "jsonl":
        yield _line(list(columns), output_format)
    for values in zip(*columns.values(), strict=True):
        if output_format == "jsonl":
            yield json.dumps(dict(zip(columns, values, strict=True)), ensure_ascii=False) + "\n"
        else:
            yield _line([each if isinstance(each, str) else f"{each:.7g}" for each in values], output_format)


def _line(values: list[str], output_format: str) -> str:
    if output_format == "tsv":
        return "\t".join(" ".join(value.split()) for value in values) + "\n"
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(values)
    return line.getvalue()
