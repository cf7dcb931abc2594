"""`pairlight build`: make a dataset from your own data, by the protocol of a paper."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairlight.cli.command import Command
from pairlight.cli.options import MAX_COUNT, MAX_SEED, Columns, Json, Overwrite, with_columns
from pairlight.cli.output import print_json
from pairlight.core.errors import InputError
from pairlight.core.files import list_files, sha256_of
from pairlight.core.folders import output_folder
from pairlight.core.progress import ProgressReporter, progress_reporter
from pairlight.training.config import MAX_NEGATIVES

if TYPE_CHECKING:
    from pairlight.data.pairs import Pairs
    from pairlight.data.splits import Splits

MAX_SEQUENCE = 1000  # letters; their table of common subsequences grows with the square

build = typer.Typer(help="Make a dataset by the protocol of a paper.", no_args_is_help=True)

Source = Annotated[
    str, typer.Argument(help="File of positive pairs (.tsv, .csv, .jsonl, .parquet), or a named dataset.")
]
Out = Annotated[Path, typer.Option("--out", help="Folder for train.tsv, dev.tsv, test.tsv and the card.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=MAX_SEED, help="Seed; the same seed gives the same files.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Use at most this many positive pairs.")]
NegativesPerPositive = Annotated[
    int,
    typer.Option("--negatives-per-positive", min=1, max=MAX_NEGATIVES, help="Number of negatives for each positive."),
]


@build.command("qa", cls=Command)
@with_columns(header=True, folder=True)
def qa(
    pairs: Source,
    out: Out,
    negatives_per_positive: NegativesPerPositive = 4,
    top: Annotated[
        int, typer.Option("--top", min=1, max=MAX_COUNT, help="Draw negatives from this many of BM25's best answers.")
    ] = 1000,
    min_words: Annotated[
        int, typer.Option("--min-words", min=1, max=MAX_COUNT, help="Drop pairs with a shorter text.")
    ] = 5,
    max_words: Annotated[
        int, typer.Option("--max-words", min=1, max=MAX_COUNT, help="Drop pairs with a longer text.")
    ] = 50,
    seed: Seed = 0,
    limit: Limit = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    *,
    columns: Columns,
) -> None:
    """Question answering: find the answer among similar ones."""
    from pairlight.datasets import qa as protocol

    with _output(out, overwrite):
        columns.check(pairs)
        with progress_reporter() as reporter:
            splits = protocol.qa(
                _read_positives(pairs, columns, reporter),
                negatives_per_positive=negatives_per_positive,
                top=top,
                seed=seed,
                limit=limit,
                min_words=min_words,
                max_words=max_words,
                progress=lambda done: reporter.update("Building", done),
                on_report=lambda report: reporter.say(str(report)),
            )
        lengths = {"min_words": min_words, "max_words": max_words}
        options = {
            "seed": seed,
            "negatives_per_positive": negatives_per_positive,
            "top": top,
            "limit": limit,
            **lengths,
        }
        _write(out, "qa", protocol.protocol(**lengths), splits, options, [pairs], as_json)


@build.command("completion", cls=Command)
@with_columns(label=False, ids=False, header=True, folder=True)
def completion(
    texts: Annotated[
        list[str], typer.Argument(help="Text files, folders of text files, tables of pairs, or a named dataset.")
    ],
    out: Out,
    negatives_per_positive: NegativesPerPositive = 4,
    seed: Seed = 0,
    limit: Limit = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    *,
    columns: Columns,
) -> None:
    """Sentence completion: find the second clause."""
    from pairlight.datasets import completion as protocol

    with _output(out, overwrite):
        columns.check(*texts)
        for source in texts:
            if Path(source).is_dir() and out.resolve().is_relative_to(Path(source).resolve()):
                raise InputError(
                    f"{out} is in {source}, whose files are read: choose a folder outside of it.", option="out"
                )
        with progress_reporter() as reporter:
            splits = protocol.completion(
                (text for source in texts for text in _read_texts(source, columns, reporter)),
                negatives_per_positive=negatives_per_positive,
                seed=seed,
                limit=limit,
                progress=lambda done: reporter.update("Building", done),
            )
        options = {"seed": seed, "negatives_per_positive": negatives_per_positive, "limit": limit}
        _write(out, "completion", protocol.PROTOCOL, splits, options, texts, as_json)


@build.command("citation", cls=Command)
@with_columns(header=True, folder=True)
def citation(
    pairs: Source,
    out: Out,
    negatives_per_positive: NegativesPerPositive = 2,
    seed: Seed = 0,
    limit: Limit = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    *,
    columns: Columns,
) -> None:
    """Paper citation: decide whether one paper cites another."""
    from pairlight.datasets import citation as protocol

    with _output(out, overwrite):
        columns.check(pairs)
        with progress_reporter() as reporter:
            splits = protocol.citation(
                _read_positives(pairs, columns, reporter),
                negatives_per_positive=negatives_per_positive,
                seed=seed,
                limit=limit,
                progress=lambda done: reporter.update("Building", done),
            )
        options = {"seed": seed, "negatives_per_positive": negatives_per_positive, "limit": limit}
        _write(out, "citation", protocol.PROTOCOL, splits, options, [pairs], as_json)


@build.command("lcs", cls=Command)
def lcs(
    out: Out,
    shortest: Annotated[
        int, typer.Option("--shortest", min=1, max=MAX_SEQUENCE, help="Smallest length of a sequence.")
    ] = 5,
    longest: Annotated[
        int, typer.Option("--longest", min=1, max=MAX_SEQUENCE, help="Largest length of a sequence.")
    ] = 5,
    seed: Seed = 0,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Use at most this many pairs per split.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Longest common subsequence: predict its length.

    The label is the length divided by --longest.
    """
    from pairlight.datasets import lcs as protocol

    with _output(out, overwrite):
        with progress_reporter() as reporter:
            splits = protocol.lcs(
                shortest=shortest,
                longest=longest,
                seed=seed,
                limit=limit,
                progress=lambda done: reporter.update("Building", done),
            )
        options = {"seed": seed, "shortest": shortest, "longest": longest, "limit": limit}
        _write(out, "lcs", protocol.PROTOCOL, splits, options, [], as_json)


def _output(out: Path, overwrite: bool) -> AbstractContextManager[bool]:
    """Write a dataset to this folder; the files of a run that was stopped are written again."""
    from pairlight.datasets.folder import is_dataset

    return output_folder(out, overwrite=overwrite, is_complete=is_dataset, what="a dataset")


def _read_positives(source: str, columns: Columns, reporter: ProgressReporter) -> "Pairs":
    """Read the pairs of a file, with labels if it has any, or the positive pairs of a named dataset."""
    from pairlight.datasets.catalog import DATASETS, positive_pairs

    if source in DATASETS:
        return positive_pairs(source, columns.folder)
    # A file without labels contains only positive pairs; a label column that was named must exist.
    pairs = columns.read(source, reporter, need_label=None if columns.label == "label" else True)
    reporter.say(f"{source}: {len(pairs):,} pairs.")
    return pairs


def _read_texts(source: str, columns: Columns, reporter: ProgressReporter) -> Iterator[str]:
    """Read the texts of a text file, of all files in a folder, of a table of pairs, or of a named dataset."""
    from pairlight.data.tables import EXTENSIONS
    from pairlight.datasets.catalog import DATASETS, raw_texts

    if source in DATASETS:
        yield from raw_texts(source, columns.folder)
    elif Path(source).is_dir():
        files = list_files(Path(source))
        if not files:
            raise InputError(f"The folder {source} contains no files: give a folder with text files.")
        yield from map(_read_text, files)
    elif source.lower().endswith(EXTENSIONS):
        yield from columns.read(source, reporter, need_label=False).texts
    else:
        yield _read_text(Path(source))


def _read_text(path: Path) -> str:
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not valid UTF-8 at byte {error.start}: save it as UTF-8.") from None
    except OSError as error:
        fix = "give a text file, a folder or a named dataset"
        raise InputError(f"{path} cannot be read ({error.strerror}): {fix}.") from None
    if "\0" in text:
        raise InputError(f"{path} contains a NUL byte, so it is not a text file.")
    return text


def _write(
    out: Path,
    name: str,
    protocol: str,
    splits: "Splits",
    options: Mapping[str, Any],
    sources: Sequence[str],
    as_json: bool,
) -> None:
    from pairlight.datasets.catalog import DATASETS
    from pairlight.datasets.folder import DataSource, write_dataset

    read = [
        DataSource(source) if source in DATASETS else DataSource(Path(source).name, sha256_of(Path(source)))
        for source in sources
    ]
    card = write_dataset(out, splits, name=name, protocol=protocol, options=options, sources=read)
    if as_json:
        print_json(card.as_dict())
        return
    for split, info in card.splits.items():
        print(f"{split:5} {info.pairs:9,} pairs {info.lists:9,} lists {info.texts:9,} texts")
    files = f"{out}/train.tsv --dev {out}/dev.tsv --test {out}/test.tsv"
    print(f"Written to {out}. Train a model with: pairlight train {files} --out MODEL")
