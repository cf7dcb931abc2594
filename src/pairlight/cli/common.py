"""What several commands share: the flags that name columns, and how data and results come in and out."""

import json
import shlex
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairlight.data.pairs import Pairs
from pairlight.data.readers import EXTENSIONS, read_pairs
from pairlight.core.errors import InputError
from pairlight.core.files import write_text
from pairlight.core.progress import ProgressReporter
from pairlight.datasets.catalogue import SETS, load

if TYPE_CHECKING:
    from pairlight.experiments.compare import Cell

Left = Annotated[str, typer.Option("--left", help="Column of the left text.")]
Right = Annotated[str, typer.Option("--right", help="Column of the right text.")]
Label = Annotated[str, typer.Option("--label", help="Column of the label: a number, higher for a better match.")]
LeftId = Annotated[str, typer.Option("--left-id", help="Column that groups pairs into ranking lists.")]
RightId = Annotated[str, typer.Option("--right-id", help="Column that names the right text.")]
SkipBadRows = Annotated[bool, typer.Option("--skip-bad-rows", help="Count and skip bad rows.")]
Folder = Annotated[Path | None, typer.Option("--folder", help="Where the files of a named set are.")]
Json = Annotated[bool, typer.Option("--json", help="Print results as JSON.")]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Cores to use.")]


@dataclass(frozen=True)
class Columns:
    """How the user calls the columns of a file."""

    left: str = "left"
    right: str = "right"
    label: str = "label"
    left_id: str = "left_id"
    right_id: str = "right_id"
    skip_bad_rows: bool = False
    header: str | None = None  # names with commas between them, for a file without a header

    def flags(self) -> list[str]:
        """The options that say this, as they are written."""
        found = []
        for each in fields(self):
            value = getattr(self, each.name)
            if value != each.default:
                found += [f"--{each.name.replace('_', '-')}", *([] if value is True else [value])]
        return found

    def check(self, sources: Iterable[str | None], folder: Path | None) -> None:
        """Refuse what none of the sources takes: columns are a table's, a folder is a named set's."""
        given = [source for source in sources if source]
        own = self.flags()
        if own and not any(source.lower().endswith(EXTENSIONS) for source in given):
            raise InputError(f"{own[0]} is for tables of pairs, and {given[0]} is none: leave {own[0]} out.")
        if folder is not None and not any(source in SETS for source in given):
            raise InputError(f"--folder is for named sets, and {given[0]} is none: leave --folder out.")

    def read(self, source: str, show: ProgressReporter, *, need_label: bool | None = True) -> Pairs:
        """The pairs of a file."""
        pairs, report = read_pairs(
            source,
            left=self.left,
            right=self.right,
            label=self.label,
            left_id=self.left_id,
            right_id=self.right_id,
            header=None if self.header is None else [name.strip() for name in self.header.split(",")],
            skip_bad_rows=self.skip_bad_rows,
            need_label=need_label,
        )
        if report.skipped:
            show.say(f"Skipped {report.skipped:,} bad rows of {report.rows:,}. The first: {report.first_errors[0]}")
        return pairs

    def part(self, source: str, part: str, folder: Path | None, show: ProgressReporter) -> Pairs:
        """The pairs of a file, or one part of a named set."""
        return named(source, folder, show)[part] if source in SETS else self.read(source, show)


def named(name: str, folder: Path | None, show: ProgressReporter) -> dict[str, Pairs]:
    """All parts of a named set, with a bar while it is made."""
    return load(name, folder, progress=lambda done: show.share(f"Making {name}", done))


def check_measurable(pairs: Pairs, name: str) -> None:
    """Say before a training that nothing could be measured after it."""
    from pairlight.evaluation.evaluate import evaluate_scores

    try:
        evaluate_scores(pairs, [0.0] * len(pairs))
    except InputError as error:
        raise InputError(f"Nothing can be measured on {name}. {error}") from None


def settings_of(pairs: list[str]) -> dict[str, str]:
    """name=value, as often as given."""
    settings: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise InputError(f"--set {pair!r} is not name=value: write --set k=5.")
        settings[name.replace("-", "_")] = value
    return settings


def use_threads(threads: int | None) -> None:
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


def warnings_as_lines(show: ProgressReporter) -> None:
    """Warnings reach the user as plain lines, each once."""
    said: set[str] = set()

    def line(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in said:
            said.add(str(message))
            show.say(f"Note: {message}")

    warnings.showwarning = line


class Trainings:
    """What is said of many trainings as they end: warnings once, and at last which of them failed."""

    def __init__(self, show: ProgressReporter) -> None:
        self.show = show
        self.said: set[str] = set()
        self.failures: list[str] = []

    def done(self, line: str, result: dict[str, Any]) -> None:
        self.show.say(line)
        for note in result.get("notes", []):  # cells of old folders have none
            if note not in self.said:
                self.said.add(note)
                self.show.say(f"Note: {note}")

    def failed(self, cell: "Cell", error: InputError) -> None:
        self.failures.append(f"{cell.model} seed {cell.seed}: {error}")
        self.show.say(f"Failed: {self.failures[-1]}")

    def check(self) -> None:
        """Let the command end as failed where a training did, once all else is done."""
        if self.failures:
            raise InputError(f"{len(self.failures)} of the trainings failed, the first: {self.failures[0]}")


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def metrics_line(metrics: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.4f}" for name, value in metrics.items())


def command_line() -> str:
    return shlex.join(["pairlight", *sys.argv[1:]])
