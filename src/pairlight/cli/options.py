"""Options that several commands share: columns of a file, training options, settings of a model, threads, JSON."""

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairlight.core.errors import InputError
from pairlight.text.checks import short_repr
from pairlight.training.config import TrainingConfig

if TYPE_CHECKING:
    from pairlight.core.progress import ProgressReporter
    from pairlight.data.collection import Collection
    from pairlight.data.pair_blocks import PairBlocks
    from pairlight.data.pairs import Pairs
    from pairlight.data.readers import ReadReport
    from pairlight.data.source_table import SourceTable
    from pairlight.data.splits import Splits
    from pairlight.experiments.executor import Executor

CommandFunction = Callable[..., None]
_OPTIONAL = ("label", "left_id")  # columns of pairs that need not be there

MAX_COUNT = 1_000_000  # of results, candidates and other counts
MAX_SEED = 2**32 - 1
MAX_JOBS = 256  # processes
MAX_SEEDS = 1000

Model = Annotated[Path, typer.Argument(help="Folder of a saved model.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Number of CPU threads.")]
FirstStage = Annotated[
    str | None,
    typer.Option("--first-stage", help="bm25, vectors or hybrid, if the index has it.  [default: that of the index]"),
]
TextColumn = Annotated[str, typer.Option("--text", help="Column of the texts, if the file is a table.")]
IdColumn = Annotated[str, typer.Option("--id", help="Column of the texts' ids, if the file is a table.")]
Folder = Annotated[Path | None, typer.Option("--folder", help="Folder with the files of a named dataset.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster", help="Run on Ray: the address of a cluster, or auto for the one that runs here or a local one."
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier result in the output folder.")]


@dataclass(frozen=True)
class Columns:
    """How to read the pairs that a command gets: the columns of a file, or the folder of a named dataset."""

    left: Annotated[str, typer.Option("--left", help="Column of the left text.")] = "left"
    right: Annotated[str, typer.Option("--right", help="Column of the right text.")] = "right"
    label: Annotated[str, typer.Option("--label", help="Column of the label: a number, higher for a better match.")] = (
        "label"
    )
    left_id: Annotated[str, typer.Option("--left-id", help="Column that groups pairs into ranking lists.")] = "left_id"
    right_id: Annotated[str, typer.Option("--right-id", help="Column of the right text's id.")] = "right_id"
    header: Annotated[
        str | None,
        typer.Option("--header", help="Column names separated by commas, for a file without a header line."),
    ] = None
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Skip bad rows and print how many there were.")
    ] = False
    folder: Folder = None

    def flags(self) -> list[str]:
        """The options that were given, as they are written on the command line."""
        flags = []
        for name in self._given():
            value = getattr(self, name)
            flags += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
        return flags

    def check(self, *sources: str | None) -> None:
        """Raise InputError if an option was given that applies to none of the sources."""
        from pairlight.data.tables import EXTENSIONS
        from pairlight.datasets.catalog import DATASETS

        read = [source for source in sources if source]
        for name in self._given():
            if name == "folder":
                kind, applies = "named datasets", any(source in DATASETS for source in read)
            else:
                kind, applies = "tables of pairs", any(source.lower().endswith(EXTENSIONS) for source in read)
            if not applies:
                raise InputError(f"This option is for {kind}, and {read[0]} is not one: remove it.", option=name)

    def read(self, source: str, reporter: "ProgressReporter", *, need_label: bool | None = True) -> "Pairs":
        """Read the pairs of a file."""
        from pairlight.data.readers import read_pairs

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
        self._say(source, report, reporter)
        if need_label is None and pairs.label is None and report.unused:
            unused = ", ".join(short_repr(name) for name in report.unused[:10])
            reporter.say(f"{source}: the columns not used are {unused}; if one has labels, name it with --label.")
        return pairs

    def read_with_tables(
        self, source: str, reporter: "ProgressReporter", rows: int | None
    ) -> "Iterator[tuple[Pairs, SourceTable]]":
        """Read the pairs of a file without labels, and all columns of the file, at most `rows` at a time."""
        from pairlight.data.readers import PairsAndTables, ReadReport

        reader = PairsAndTables(
            source,
            left=self.left,
            right=self.right,
            left_id=self.left_id,
            right_id=self.right_id,
            skip_bad_rows=self.skip_bad_rows,
            rows=rows,
        )
        for number, read in enumerate(reader):
            if number == 0:
                self._say(source, ReadReport(0, columns=reader.report.columns), reporter)
            yield read
        self._say(source, replace(reader.report, columns={}), reporter)

    def read_splits(self, source: str, reporter: "ProgressReporter", *, need_label: bool | None = True) -> "Splits":
        """Load all splits of a named dataset; a file is the split `train`."""
        from pairlight.datasets.catalog import DATASETS, load_dataset

        if source not in DATASETS:
            return {"train": self.read(source, reporter, need_label=need_label)}
        return load_dataset(source, self.folder, lambda done: reporter.update(f"Loading {source}", done))

    def read_evaluation(self, source: str, reporter: "ProgressReporter") -> "Splits":
        """Read pairs to evaluate on; those of a file without a label column are positives, and negatives are drawn."""
        from pairlight.data.negatives import mine_negatives
        from pairlight.data.positives import as_positives

        splits = self.read_splits(source, reporter, need_label=self._need_label)
        if all(pairs.label is not None for pairs in splits.values()):
            return splits
        negatives = TrainingConfig().negatives_per_positive
        reporter.say(
            f"{source} has no label column, so every pair is a positive: for each, up to {negatives} negatives are "
            "drawn at random from the other right texts."
        )
        return {name: mine_negatives(as_positives(pairs), "random", negatives) for name, pairs in splits.items()}

    def read_training(
        self,
        source: str,
        dev: str | None,
        test: str | None,
        options: Mapping[str, Any],
        reporter: "ProgressReporter",
        *,
        hold_out: bool = True,
    ) -> "tuple[Splits, dict[str, Any]]":
        """Read the pairs to train on, and those of `dev` and `test`; also return the training options to use.

        A file without a label column contains only positives. If no pair is a negative and the options do not say
        where negatives come from, they are drawn at random. With `hold_out`, dev lists are then held out, at least two
        so that they have negatives.
        """
        from pairlight.data.positives import are_positives, as_positives, hold_out_positives

        optional = self._need_label
        splits = self.read_splits(source, reporter, need_label=optional)
        unlabeled = splits["train"].label is None
        for name, file in (("dev", dev), ("test", test)):
            if file is not None:
                splits[name] = self.read(file, reporter, need_label=optional if unlabeled else True)
        splits = {name: as_positives(pairs) for name, pairs in splits.items()}
        options = dict(options)
        if "negatives" not in options and are_positives(splits["train"]):
            options["negatives"] = "random"
            reason = "has no label column, so every pair is a positive" if unlabeled else "has no negatives"
            reporter.say(f"{source} {reason}: negatives are drawn at random (choose with --negatives).")
        mines = options.get("negatives", "list") != "list" and are_positives(splits["train"])
        if hold_out and mines and "dev" not in splits:
            splits["train"], splits["dev"] = hold_out_positives(splits["train"], options.get("seed", 1))
            lists = splits["dev"].lists + splits["train"].lists
            reporter.say(f"No dev set given: {splits['dev'].lists:,} of {lists:,} lists are held out as one.")
        return splits, options

    @property
    def _need_label(self) -> bool | None:
        """None where labels are optional; a label column that was named must exist."""
        return None if self.label == "label" else True

    def read_blocks(
        self, source: str, options: Mapping[str, Any], reporter: "ProgressReporter"
    ) -> "tuple[PairBlocks, dict[str, Any]]":
        """The pairs of large Parquet files, to read them block by block; also return the training options to use."""
        from pairlight.data.columns import Column
        from pairlight.data.pair_blocks import pair_blocks
        from pairlight.data.positives import are_positives, as_positives

        optional = [Column(role, getattr(self, role), required=getattr(self, role) != role) for role in _OPTIONAL]
        blocks = pair_blocks(
            source, [Column("left", self.left), Column("right", self.right), *optional], self.skip_bad_rows
        )
        options = dict(options)
        if "negatives" not in options and are_positives(as_positives(next(blocks.read(blocks.blocks[0])))):
            options["negatives"] = "random"
            reporter.say(f"{source} has no negatives: they are drawn at random (choose with --negatives).")
        reporter.say(f"{source}: {len(blocks):,} pairs are read in {len(blocks.blocks):,} blocks.")
        return blocks, options

    def _say(self, source: str, report: "ReadReport", reporter: "ProgressReporter") -> None:
        """Print the columns that were recognized, and how many bad rows were skipped."""
        recognized = [f"{role}={name}" for role, name in report.columns.items() if name != getattr(self, role)]
        if recognized:
            reporter.say(f"{source}: the columns used are {', '.join(recognized)}.")
        if report.skipped:
            reporter.say(f"Skipped {report.skipped:,} bad rows of {report.rows:,}. The first: {report.first_errors[0]}")

    def _given(self) -> list[str]:
        return [each.name for each in fields(self) if getattr(self, each.name) != each.default]


def choose_executor(jobs: int, cluster: str | None) -> "Executor":
    """Runs in processes of this machine, or on a cluster."""
    if cluster is None:
        from pairlight.experiments.executor import ProcessExecutor

        return ProcessExecutor(jobs)
    from pairlight.cluster.executor import RayExecutor

    return RayExecutor(cluster)


def read_texts(source: str, text: str, id: str, reporter: "ProgressReporter") -> "Collection":
    """Read texts from a table or a file of lines, and print the columns that were recognized."""
    from pairlight.data.collection import read_collection

    collection = read_collection(source, text=text, id=id)
    given = {"text": text, "id": id}
    recognized = [f"{role}={name}" for role, name in collection.columns.items() if name != given[role]]
    if recognized:
        reporter.say(f"{source}: the columns used are {', '.join(recognized)}.")
    return collection


def with_columns(
    *, label: bool = True, ids: bool = True, header: bool = False, folder: bool = False
) -> Callable[[CommandFunction], CommandFunction]:
    """Replace the parameter `columns` of a command by one flag for each field of `Columns`.

    The arguments select the optional flags: --label, --left-id and --right-id, --header, --folder.
    """
    optional = {"label": label, "left_id": ids, "right_id": ids, "header": header, "folder": folder}
    flags = [_flag(each.name, each.type, each.default) for each in fields(Columns) if optional.get(each.name, True)]
    return lambda command: _with_flags(command, "columns", flags, lambda values: Columns(**values))


def with_training_options(command: CommandFunction) -> CommandFunction:
    """Replace the parameter `options` of a command by one flag for each field of `TrainingConfig`.

    The command receives a checked dictionary of the options that were given.
    """
    return _with_flags(command, "options", [_training_flag(each) for each in fields(TrainingConfig)], _given_options)


def parse_settings(pairs: Sequence[str] | None, option: str) -> dict[str, str]:
    """Parse values of the form name=value; `option` names the parameter in the error."""
    settings: dict[str, str] = {}
    for pair in pairs or ():
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise InputError(f"{pair!r} is not of the form name=value: write for example k=5.", option=option)
        settings[name.replace("-", "_")] = value
    return settings


def _training_flag(option: "Field[Any]") -> inspect.Parameter:
    meaning = f"{option.metadata['meaning']}  [default: {option.default}]"
    kind = type(option.default) | None
    return _flag(option.name, Annotated[kind, typer.Option(help=meaning, show_default=False)], None)


def _flag(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _given_options(values: dict[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in values.items() if value is not None}
    TrainingConfig.of({}, given)  # checks them
    return given


def _with_flags(
    command: CommandFunction,
    parameter: str,
    flags: Sequence[inspect.Parameter],
    collect: Callable[[dict[str, Any]], Any],
) -> CommandFunction:
    """Replace a parameter of a command by flags, whose values are collected into one argument again."""

    @wraps(command)
    def run(**arguments: Any) -> None:
        values = {flag.name: arguments.pop(flag.name) for flag in flags}
        command(**arguments, **{parameter: collect(values)})

    parameters: list[inspect.Parameter] = []
    for own in inspect.signature(command).parameters.values():
        parameters += flags if own.name == parameter else [own.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def check_not_input(out: str | Path, source: str) -> None:
    """Raise InputError if a file would be replaced by what is made from it."""
    if os.path.isfile(source) and os.path.isfile(out) and os.path.samefile(source, out):
        raise InputError(f"{out} is the file that is read: choose another name.", option="out")
