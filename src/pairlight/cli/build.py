"""`pairlight build`: a data set made by a paper's protocol, out of data of the user's own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from pairlight.cli import common
from pairlight.data.pairs import Pairs
from pairlight.data.readers import EXTENSIONS
from pairlight.core.errors import InputError
from pairlight.core.progress import ProgressReporter, progress_reporter
from pairlight.datasets import citation as citations
from pairlight.datasets import completion as completions
from pairlight.datasets import lcs as sequences
from pairlight.datasets import qa as questions
from pairlight.datasets.catalogue import SETS, raw_texts, positive_pairs
from pairlight.datasets.folder import checksum, claim, files_in, write_task

build = typer.Typer(help="Make a data set by a paper's protocol.", no_args_is_help=True)

Source = Annotated[str, typer.Argument(help="A file of right pairs (.tsv, .csv, .jsonl, .parquet) or a named set.")]
Out = Annotated[Path, typer.Option("--out", help="Folder for train.tsv, dev.tsv, test.tsv and the card.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same bytes.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="So many right pairs at most, drawn by seed.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the task in the folder.")]
Header = Annotated[
    str | None, typer.Option("--header", help="Column names with commas between them, for a file without a header.")
]


@build.command("qa")
def qa(
    pairs: Source,
    out: Out,
    left: common.Left = "left",
    right: common.Right = "right",
    label: common.Label = "label",
    left_id: common.LeftId = "left_id",
    right_id: common.RightId = "right_id",
    header: Header = None,
    skip_bad_rows: common.SkipBadRows = False,
    folder: common.Folder = None,
    wrong: Annotated[int, typer.Option("--wrong", min=1, help="Wrong answers for each question.")] = 4,
    top: Annotated[int, typer.Option("--top", min=1, help="Drawn from so many that BM25 finds.")] = 1000,
    seed: Seed = 0,
    limit: Limit = None,
    overwrite: Overwrite = False,
    as_json: common.Json = False,
) -> None:
    """Question answering: the right answer among answers that BM25 finds like it."""
    claim(out, overwrite)
    columns = common.Columns(left, right, label, left_id, right_id, skip_bad_rows, header)
    columns.check([pairs], folder)
    with progress_reporter() as show:
        common.warnings_as_lines(show)
        read = _positive_pairs(pairs, columns, folder, show)
        parts = questions.qa(
            read,
            negatives_per_positive=wrong,
            top=top,
            seed=seed,
            limit=limit,
            progress=lambda done: show.share("Building", done),
        )
    choices = {"seed": seed, "negatives_per_positive": wrong, "top": top, "limit": limit}
    _finish(out, "qa", questions.PROTOCOL, parts, choices, [pairs], as_json)


@build.command("completion")
def completion(
    texts: Annotated[list[str], typer.Argument(help="Plain-text files or folders of them, tables, or a named set.")],
    out: Out,
    left: common.Left = "left",
    right: common.Right = "right",
    header: Header = None,
    skip_bad_rows: common.SkipBadRows = False,
    folder: common.Folder = None,
    wrong: Annotated[int, typer.Option("--wrong", min=1, help="Wrong second clauses for each first.")] = 4,
    seed: Seed = 0,
    limit: Limit = None,
    overwrite: Overwrite = False,
    as_json: common.Json = False,
) -> None:
    """Sentence completion: the second clause of a sentence among second clauses like it."""
    claim(out, overwrite)
    columns = common.Columns(left, right, skip_bad_rows=skip_bad_rows, header=header)
    columns.check(texts, folder)
    for source in texts:
        if source not in SETS and Path(source).is_dir() and out.resolve().is_relative_to(Path(source).resolve()):
            raise InputError(f"--out {out} lies in {source}, whose files are read: give a folder outside it.")
    with progress_reporter() as show:
        common.warnings_as_lines(show)
        found = (text for source in texts for text in _texts(source, columns, folder, show))
        parts = completions.completion(
            found,
            negatives_per_positive=wrong,
            seed=seed,
            limit=limit,
            progress=lambda done: show.share("Building", done),
        )
    choices = {"seed": seed, "negatives_per_positive": wrong, "limit": limit}
    _finish(out, "completion", completions.PROTOCOL, parts, choices, texts, as_json)


@build.command("citation")
def citation(
    pairs: Source,
    out: Out,
    left: common.Left = "left",
    right: common.Right = "right",
    label: common.Label = "label",
    left_id: common.LeftId = "left_id",
    right_id: common.RightId = "right_id",
    header: Header = None,
    skip_bad_rows: common.SkipBadRows = False,
    folder: common.Folder = None,
    wrong: Annotated[int, typer.Option("--wrong", min=1, help="Pairs that are none for each citation.")] = 2,
    seed: Seed = 0,
    limit: Limit = None,
    overwrite: Overwrite = False,
    as_json: common.Json = False,
) -> None:
    """Paper citation: does the left paper cite the right one?"""
    claim(out, overwrite)
    columns = common.Columns(left, right, label, left_id, right_id, skip_bad_rows, header)
    columns.check([pairs], folder)
    with progress_reporter() as show:
        common.warnings_as_lines(show)
        read = _positive_pairs(pairs, columns, folder, show)
        parts = citations.citation(
            read,
            negatives_per_positive=wrong,
            seed=seed,
            limit=limit,
            progress=lambda done: show.share("Building", done),
        )
    choices = {"seed": seed, "negatives_per_positive": wrong, "limit": limit}
    _finish(out, "citation", citations.PROTOCOL, parts, choices, [pairs], as_json)


@build.command("lcs")
def lcs(
    out: Out,
    shortest: Annotated[int, typer.Option("--shortest", min=1, help="Letters of a sequence at least.")] = 5,
    longest: Annotated[int, typer.Option("--longest", min=1, help="Letters of a sequence at most.")] = 5,
    seed: Seed = 0,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="So many pairs of a part at most.")] = None,
    overwrite: Overwrite = False,
    as_json: common.Json = False,
) -> None:
    """Longest common subsequence of random letters, as a number between 0 and 1."""
    claim(out, overwrite)
    with progress_reporter() as show:
        parts = sequences.lcs(
            shortest=shortest,
            longest=longest,
            seed=seed,
            limit=limit,
            progress=lambda done: show.share("Building", done),
        )
    choices = {"seed": seed, "shortest": shortest, "longest": longest, "limit": limit}
    _finish(out, "lcs", sequences.PROTOCOL, parts, choices, [], as_json)


def _positive_pairs(source: str, columns: common.Columns, folder: Path | None, show: ProgressReporter) -> Pairs:
    """The pairs of a file, with their labels where it has any, or the right pairs of a named set."""
    if source in SETS:
        return positive_pairs(source, folder)
    # A file without labels holds right pairs only; a column that was named must be there.
    pairs = columns.read(source, show, need_label=None if columns.label == "label" else True)
    show.say(f"{source}: {len(pairs):,} pairs.")
    return pairs


def _texts(source: str, columns: common.Columns, folder: Path | None, show: ProgressReporter) -> Iterator[str]:
    """The raw texts of a plain-text file, of a folder's files in the order of their names, of a table or a set."""
    path = Path(source)
    if source in SETS:
        yield from raw_texts(source, folder)
    elif path.is_dir():
        files = files_in(path)
        if not files:
            raise InputError(f"The folder {path} holds no file: give one with text files.")
        yield from map(_text, files)
    elif source.lower().endswith(EXTENSIONS):
        yield from columns.read(source, show, need_label=False).texts
    else:
        yield _text(path)


def _text(path: Path) -> str:
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not valid UTF-8 at byte {error.start}: save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give a text file, a folder or a set.") from None
    if "\0" in text:
        raise InputError(f"{path} holds a NUL byte, so it is no plain text: give a text file.")
    return text


def _finish(
    out: Path,
    task: str,
    protocol: str,
    parts: dict[str, Pairs],
    choices: dict[str, int | None],
    sources: list[str],
    as_json: bool,
) -> None:
    listed = [
        {"name": each if each in SETS else Path(each).name, "sha256": None if each in SETS else checksum(Path(each))}
        for each in sources
    ]
    about: dict[str, Any] = {"task": task, "protocol": protocol, "choices": choices, "sources": listed}
    card = write_task(out, parts, about)
    if as_json:
        common.print_json(card)
        return
    for part, facts in card["parts"].items():
        print(f"{part:5} {facts['pairs']:9,} pairs {facts['lists']:9,} lists {facts['texts']:9,} texts")
    print(
        f"Written to {out}. Try: pairlight train {out}/train.tsv --dev {out}/dev.tsv --test {out}/test.tsv --out MODEL"
    )
