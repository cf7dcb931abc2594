"""Reads the rows of tables: files, lists, data frames and Hugging Face datasets.

The reader of each format yields the number of a row with its cells (None where the source has no such column), or with
a description of the fault if the row is bad.
"""

import csv
import gzip
import json
import os
import re
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, repeat
from operator import itemgetter
from pathlib import Path
from typing import Any

from pairlight.core.errors import InputError
from pairlight.data.blocks import open_parquet, read_batches, unreadable
from pairlight.data.columns import RowCells, TableColumns
from pairlight.text.checks import is_unicode, short_repr

NumberedRows = Iterator[tuple[int, RowCells | str]]  # the number of a row, and its cells or its fault

EXTENSIONS = (".tsv", ".csv", ".jsonl", ".tsv.gz", ".csv.gz", ".jsonl.gz", ".parquet")

_OPENING_QUOTE = re.compile('([^"]*[,;\t])?"')  # the first quote of a line, at the beginning of a field
_BATCH = 10_000
MAX_LINE = 10_000_000  # characters


@dataclass
class WholeRows:
    """Collects what a table has besides the columns that are read, if it is to be written again."""

    names: list[str] = field(default_factory=list)  # of all columns; empty if rows are mappings
    last: Any = None  # the whole row that was yielded last: a sequence of all cells, or a mapping
    schema: Any = None  # the Arrow schema of a Parquet file


@dataclass(frozen=True)
class OpenTable:
    """The name of a source, the unit in which its rows are numbered, and its rows."""

    name: str
    unit: str
    rows: NumberedRows


def open_table(
    source: Any, columns: TableColumns, header: Sequence[str] | None = None, whole: WholeRows | None = None
) -> OpenTable:
    """Open a source; with `whole`, each row is also stored there completely while it is yielded (files only)."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        extension = _extension(path)
        if header is not None and extension not in (".tsv", ".csv"):
            raise InputError(
                f"{path} contains the names of its columns: header is only for .tsv and .csv files.", option="header"
            )
        match extension:
            case ".tsv":
                rows = _delimited(_tsv(_lines(path)), columns, header, path, "do not put a tab into a text", whole)
                return OpenTable(str(path), "line", rows)
            case ".csv":
                hint = "quote a text that contains a comma"
                return OpenTable(str(path), "line", _delimited(_csv(_lines(path)), columns, header, path, hint, whole))
            case ".jsonl":
                return OpenTable(str(path), "line", _jsonl(_lines(path), columns, str(path), whole))
            case _:
                return OpenTable(str(path), "row", enumerate(_parquet(path, columns, whole), 1))
    if header is not None:
        raise InputError("header is only for .tsv and .csv files: leave it out for data in memory.", option="header")
    name = f"the {type(source).__name__}"
    if hasattr(source, "column_names") and hasattr(source, "iter"):  # a Hugging Face Dataset
        return OpenTable(name, "row", enumerate(_dataset(source, columns, name), 1))
    if hasattr(source, "itertuples") or hasattr(source, "iter_rows"):  # a pandas or polars DataFrame
        return OpenTable(name, "row", enumerate(_data_frame(source, columns, name), 1))
    if isinstance(source, Iterable) and not isinstance(source, bytes | Mapping):
        return OpenTable(name, "row", _sequence(source, columns, name))
    raise InputError(
        f"Pairs cannot be read from an object of type {type(source).__name__}: give a path, a list of tuples or dicts, "
        "a DataFrame, or one split of a Dataset."
    )


def _extension(path: Path) -> str:
    """Check that the file can be read, and return its extension without .gz."""
    if os.path.isdir(path):  # unlike the methods of Path, these functions never raise
        raise InputError(f"{path} is a folder: give a file.")
    name = path.name.lower()
    found = [extension for extension in EXTENSIONS if name.endswith(extension)]
    if not found:
        raise InputError(f"{path} has an unknown extension: use one of {', '.join(EXTENSIONS)}.")
    if not os.path.exists(path):
        raise InputError(f"The file {path} does not exist: check its name and folder.")
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise InputError(f"{path} is empty: the first line must name the columns, and pairs must follow.")
    return found[0].removesuffix(".gz")


def _lines(path: Path) -> Iterator[str]:
    try:
        opener = gzip.open if path.name.lower().endswith(".gz") else open
        # With the default newline, a lone carriage return inside a text would end the line.
        with opener(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="\n") as lines:
            # Not `for line in lines`: a line of a small compressed file could take all memory.
            for number, line in enumerate(iter(lambda: lines.readline(MAX_LINE + 1), ""), 1):
                if len(line) > MAX_LINE:
                    raise InputError(f"{path}, line {number} has more than {MAX_LINE:,} characters: divide it.")
                yield line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a valid gzip file ({error}): download or compress it again.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the file.") from None


def _tsv(lines: Iterable[str]) -> NumberedRows:
    for number, line in enumerate(lines, 1):
        line = line.removesuffix("\n").removesuffix("\r")
        if line:
            yield number, line.split("\t")


def _csv(lines: Iterable[str]) -> NumberedRows:
    """The cells of a CSV file; semicolons or tabs separate them where the first line has no comma."""
    source, pending, consumed = iter(lines), deque[str](), list[str]()
    pending.extend(islice(source, 1))
    delimiter = next((each for each in ",;\t" if pending and each in pending[0]), ",")

    def feed() -> Iterator[str]:
        while pending or (line := next(source, None)) is not None:
            consumed.append(pending.popleft() if pending else str(line))
            yield consumed[-1]

    reader, number = csv.reader(feed(), delimiter=delimiter, strict=True), 1
    while True:
        consumed.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fault = f"the CSV is malformed ({error}): close every quote, and double a quote inside quotes."
            if "field limit" in str(error):
                fault = f"a text has more than {csv.field_size_limit():,} characters: close its quote, or shorten it."
            yield number, fault
            # An unclosed quote consumes the following lines, up to one that begins with a quote: read them again.
            if "end of data" in str(error) or "field limit" in str(error) or _OPENING_QUOTE.match(consumed[-1]):
                pending.extendleft(reversed(consumed[1:]))
                del consumed[1:]
            reader, number = csv.reader(feed(), delimiter=delimiter, strict=True), number + len(consumed)
        else:
            if cells:
                yield number, cells
            number += len(consumed)


def _delimited(
    rows: NumberedRows,
    columns: TableColumns,
    header: Sequence[object] | None,
    path: Path,
    hint: str,
    whole: WholeRows | None,
) -> NumberedRows:
    is_line = header is None
    if header is None:
        first = next(rows, (1, ""))[1]
        if isinstance(first, str) or not all(is_unicode(str(name)) for name in first):
            raise InputError(
                f"{path} has no readable header: save it as UTF-8, with the names of the columns in the first line.",
                option="header",
            )
        header = first
    names = columns.find(header, str(path), is_line=is_line)
    pick = itemgetter(*(-1 if name is None else header.index(name) for name in names))
    if whole is not None:
        whole.names = [str(name) for name in header]
    for number, cells in rows:
        if isinstance(cells, str):
            yield number, cells
        elif len(cells) == len(header):
            if whole is not None:
                whole.last = cells
            yield number, pick([*cells, None])
        else:
            yield (
                number,
                f"the row has {len(cells)} fields for {len(header)} columns: write one per column, and {hint}.",
            )


def _jsonl(lines: Iterable[str], columns: TableColumns, title: str, whole: WholeRows | None) -> NumberedRows:
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, f"{short_repr(line.strip())} is not valid JSON ({error}): write one object per line."
        else:
            if isinstance(row, dict):
                if whole is not None:
                    whole.last = row
                yield number, columns.cells(row, title)
            else:
                yield number, f'{short_repr(row)} is not a JSON object: write {{"left": ..., "right": ...}}.'


def _sequence(source: Iterable[object], columns: TableColumns, title: str) -> NumberedRows:
    needs_label = any(each.role == "label" and each.required for each in columns.columns)
    sizes = (3,) if needs_label else (2, 3)
    for number, row in enumerate(source, 1):
        if isinstance(row, Mapping):
            yield number, columns.cells(row, title)
        elif isinstance(row, Sequence) and not isinstance(row, str | bytes) and len(row) in sizes:
            yield number, (row[0], row[1], row[2] if len(row) == 3 else None, None, None)
        else:
            shape = "(left, right, label)" if needs_label else "(left, right)"
            yield number, f"{short_repr(row)} is not a pair: give {shape} or a dict."


def _parquet(path: Path, columns: TableColumns, whole: WholeRows | None) -> Iterator[RowCells]:
    with open_parquet(str(path)) as file:
        names = columns.find(file.schema_arrow.names, str(path))
        wanted = [name for name in names if name is not None]
        if whole is not None:
            whole.schema, whole.names = file.schema_arrow, list(file.schema_arrow.names)
        for batch in read_batches(file, str(path), wanted if whole is None else None):
            try:
                found = {name: batch.column(name).to_pylist() for name in batch.schema.names}
            except (ValueError, OverflowError) as error:  # texts that are not UTF-8, dates after the year 9999
                raise unreadable(str(path), error) from None
            if whole is None:
                yield from _zip_columns(names, found)
                continue
            for cells, row in zip(_zip_columns(names, found), zip(*found.values(), strict=True), strict=True):
                whole.last = row
                yield cells


def _dataset(source: Any, columns: TableColumns, title: str) -> Iterator[RowCells]:
    names = columns.find(list(source.column_names or ()), title)
    for batch in source.select_columns([name for name in names if name is not None]).iter(_BATCH):
        yield from _zip_columns(names, batch)


def _data_frame(source: Any, columns: TableColumns, title: str) -> Iterator[RowCells]:
    return _zip_columns(columns.find(list(source.columns), title), source)


def _zip_columns(names: Iterable[str | None], columns: Any) -> Iterator[RowCells]:
    return zip(*(repeat(None) if name is None else columns[name] for name in names), strict=False)
