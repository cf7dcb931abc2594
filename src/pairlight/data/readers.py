"""Reads tables of text pairs from files, lists and data frames.

The reader of each format yields the number of a row with its cells (left, right, label, left_id, right_id; None where
the source has no such column), or with a description of the fault if the row is bad.
"""

import csv
import gzip
import json
import os
import re
import zlib
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from numbers import Integral
from operator import itemgetter
from pathlib import Path
from typing import Any

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.text.checks import is_unicode, short_repr, text_fault

RowCells = Sequence[object]
NumberedRows = Iterator[tuple[int, RowCells | str]]  # the number of a row, and its cells or its fault

EXTENSIONS = (".tsv", ".csv", ".jsonl", ".tsv.gz", ".csv.gz", ".jsonl.gz", ".parquet")

_OPENING_QUOTE = re.compile('([^"]*,)?"')  # the first quote of a line, at the beginning of a field
_MAX_LABEL = 3.4e38  # of float32
_MAX_ERRORS = 5
_BATCH = 10_000


@dataclass(frozen=True)
class ReadReport:
    """The number of rows read and of bad rows skipped, and the errors of the first bad rows."""

    rows: int
    skipped: int = 0
    first_errors: tuple[str, ...] = ()


def read_pairs(
    source: Any,
    *,
    left: str = "left",
    right: str = "right",
    label: str = "label",
    left_id: str = "left_id",
    right_id: str = "right_id",
    header: Sequence[str] | None = None,
    skip_bad_rows: bool = False,
    need_label: bool | None = True,
) -> tuple[Pairs, ReadReport]:
    """Read a table of pairs from a file, a list of tuples (left, right, label) or dicts, or a data frame.

    Files are UTF-8, and their first line names the columns; for .tsv and .csv files without such a line, give the
    names in `header`. The columns `left_id` and `right_id` are read if the source has them; in JSON Lines and dicts,
    if the first row has them. Labels are required if `need_label` is True, read if present if it is None, and not
    read if it is False.
    """
    if isinstance(source, Pairs):
        if need_label and source.label is None:
            raise InputError("These Pairs have no labels: pass label=... to Pairs.of.", option="label")
        return source, ReadReport(len(source))
    columns = _ColumnNames(
        left, right, None if need_label is False else label, left_id, right_id, need_label is not True
    )
    name, unit, rows = _open_source(source, columns, header)
    builder = _PairsBuilder(need_label)
    count = skipped = 0
    first_errors: list[str] = []
    for number, row in rows:
        count += 1
        fault = row if isinstance(row, str) else builder.add(row)
        if fault is None:
            continue
        error = f"{name}, {unit} {number}: {fault}"
        if not skip_bad_rows:
            raise InputError(f"{error} Or pass skip_bad_rows=True to leave out bad rows.", option="skip_bad_rows")
        skipped += 1
        if skipped <= _MAX_ERRORS:
            first_errors.append(error)
    if not count:
        raise InputError(f"{name} contains no pairs: give at least one row.")
    if skipped == count:
        raise InputError(f"All {count} rows of {name} are bad. The first error: {first_errors[0]}")
    return builder.pairs(), ReadReport(count, skipped, tuple(first_errors))


@dataclass(frozen=True)
class _ColumnNames:
    """The names of the columns to read; `label` is None if labels are not read."""

    left: str
    right: str
    label: str | None
    left_id: str
    right_id: str
    label_is_optional: bool

    def all(self) -> Iterator[tuple[str, str | None, bool]]:
        """Yield the role of every column, its name, and whether it is optional."""
        yield "left", self.left, False
        yield "right", self.right, False
        yield "label", self.label, self.label_is_optional
        yield "left_id", self.left_id, self.left_id == "left_id"
        yield "right_id", self.right_id, self.right_id == "right_id"

    def find(self, header: Sequence[object], source: str) -> list[str | None]:
        """Return the names of the five columns, with None for an optional column that the header does not have."""
        names: list[str | None] = []
        for role, name, optional in self.all():
            if header.count(name) > 1:
                raise InputError(f"{source} has more than one column {name!r}: rename all but one.", option=role)
            if name not in header and not optional:
                raise InputError(
                    f"{source} has no column {name!r}: {_naming_hint(role, 'columns', header)}", option=role
                )
            names.append(name if name in header else None)
        return names

    def cells(self, row: Mapping[str, object]) -> RowCells | str:
        """Return the cells of one JSON object or dict, or its fault."""
        for role, name, optional in self.all():
            if name not in row and not optional:
                return f"there is no key {name!r}: {_naming_hint(role, 'keys', row)}"
        return [None if name is None else row.get(name) for _, name, _ in self.all()]


class _PairsBuilder:
    """Collects rows into columns; a repeated text or left id is stored once."""

    def __init__(self, need_label: bool | None) -> None:
        self.has_label = bool(need_label)
        self.label_is_optional = need_label is None
        self.known: dict[str, str] = {}
        self.left: list[str] = []
        self.right: list[str] = []
        self.label = array("f")
        self.left_id: list[str] = []
        self.right_id: list[str] = []
        self.has_left_id = self.has_right_id = False

    def add(self, row: RowCells) -> str | None:
        """Add a row, or return its fault."""
        left, right, label, left_id, right_id = row
        if fault := text_fault(left):
            return f"the left text {short_repr(left)} {fault}"
        if fault := text_fault(right):
            return f"the right text {short_repr(right)} {fault}"
        if self.label_is_optional and not self.left:
            self.has_label = label is not None
        if self.label_is_optional and (label is not None) != self.has_label:
            others = "has a label" if self.has_label else "has none"
            return f"the label is {short_repr(label)}, but the first row {others}: give every row a label, or none."
        number = _finite_number(label) if self.has_label else 0.0
        if number is None:
            return f"the label {short_repr(label)} is not a number: write one, such as 0 or 1."
        if not self.left:
            self.has_left_id, self.has_right_id = left_id is not None, right_id is not None
        if self.has_left_id and (fault := _id_fault("left_id", left_id)):
            return fault
        if self.has_right_id and (fault := _id_fault("right_id", right_id)):
            return fault
        keep = self.known.setdefault
        self.left.append(keep(left, left))  # type: ignore[arg-type]  # text_fault has checked that it is a str
        self.right.append(keep(right, right))  # type: ignore[arg-type]
        if self.has_label:
            self.label.append(number)
        if self.has_left_id:
            self.left_id.append(keep(str(left_id), str(left_id)))
        if self.has_right_id:
            self.right_id.append(str(right_id))
        return None

    def pairs(self) -> Pairs:
        self.known.clear()
        return Pairs.of(
            self.left,
            self.right,
            self.label if self.has_label else None,
            self.left_id if self.has_left_id else None,
            self.right_id if self.has_right_id else None,
        )


def _open_source(source: Any, columns: _ColumnNames, header: Sequence[str] | None) -> tuple[str, str, NumberedRows]:
    """Return the name of a source, the unit in which its rows are numbered, and its rows."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        extension = _extension(path)
        if header is not None and extension not in (".tsv", ".csv"):
            raise InputError(
                f"{path} contains the names of its columns: header is only for .tsv and .csv files.", option="header"
            )
        match extension:
            case ".tsv":
                rows = _delimited(_tsv(_lines(path)), columns, header, path, "do not put a tab into a text")
                return str(path), "line", rows
            case ".csv":
                rows = _delimited(_csv(_lines(path)), columns, header, path, "quote a text that contains a comma")
                return str(path), "line", rows
            case ".jsonl":
                return str(path), "line", _jsonl(_lines(path), columns)
            case _:
                return str(path), "row", enumerate(_parquet(path, columns), 1)
    if header is not None:
        raise InputError("header is only for .tsv and .csv files: leave it out for data in memory.", option="header")
    name = f"the {type(source).__name__}"
    if hasattr(source, "column_names") and hasattr(source, "iter"):  # a Hugging Face Dataset
        return name, "row", enumerate(_dataset(source, columns, name), 1)
    if hasattr(source, "itertuples") or hasattr(source, "iter_rows"):  # a pandas or polars DataFrame
        return name, "row", enumerate(_data_frame(source, columns, name), 1)
    if isinstance(source, Iterable) and not isinstance(source, bytes | Mapping):
        return name, "row", _sequence(source, columns)
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
            yield from lines
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
    source, pending, consumed = iter(lines), deque[str](), list[str]()

    def feed() -> Iterator[str]:
        while pending or (line := next(source, None)) is not None:
            consumed.append(pending.popleft() if pending else str(line))
            yield consumed[-1]

    reader, number = csv.reader(feed(), strict=True), 1
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
            reader, number = csv.reader(feed(), strict=True), number + len(consumed)
        else:
            if cells:
                yield number, cells
            number += len(consumed)


def _delimited(
    rows: NumberedRows, columns: _ColumnNames, header: Sequence[object] | None, path: Path, hint: str
) -> NumberedRows:
    if header is None:
        first = next(rows, (1, ""))[1]
        if isinstance(first, str) or not all(is_unicode(str(name)) for name in first):
            raise InputError(
                f"{path} has no readable header: save it as UTF-8, with the names of the columns in the first line.",
                option="header",
            )
        header = first
    pick = itemgetter(*(-1 if name is None else header.index(name) for name in columns.find(header, str(path))))
    for number, cells in rows:
        if isinstance(cells, str):
            yield number, cells
        elif len(cells) == len(header):
            yield number, pick([*cells, None])
        else:
            yield (
                number,
                f"the row has {len(cells)} fields for {len(header)} columns: write one per column, and {hint}.",
            )


def _jsonl(lines: Iterable[str], columns: _ColumnNames) -> NumberedRows:
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, f"{short_repr(line.strip())} is not valid JSON ({error}): write one object per line."
        else:
            if isinstance(row, dict):
                yield number, columns.cells(row)
            else:
                yield number, f'{short_repr(row)} is not a JSON object: write {{"left": ..., "right": ...}}.'


def _sequence(source: Iterable[object], columns: _ColumnNames) -> NumberedRows:
    sizes = (2, 3) if columns.label_is_optional else (3,)
    for number, row in enumerate(source, 1):
        if isinstance(row, Mapping):
            yield number, columns.cells(row)
        elif isinstance(row, Sequence) and not isinstance(row, str | bytes) and len(row) in sizes:
            yield number, (row[0], row[1], row[2] if len(row) == 3 else None, None, None)
        else:
            shape = "(left, right)" if columns.label_is_optional else "(left, right, label)"
            yield number, f"{short_repr(row)} is not a pair: give {shape} or a dict."


def _parquet(path: Path, columns: _ColumnNames) -> Iterator[RowCells]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(f"Reading {path} needs pyarrow: pip install 'pairlight[parquet]'.") from None
    try:
        with pq.ParquetFile(path) as file:
            names = columns.find(file.schema_arrow.names, str(path))
            for batch in file.iter_batches(_BATCH, columns=[name for name in names if name is not None]):
                yield from _zip_columns(names, {name: batch.column(name).to_pylist() for name in batch.schema.names})
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} cannot be read as Parquet ({reason}): write the file again.") from None


def _dataset(source: Any, columns: _ColumnNames, title: str) -> Iterator[RowCells]:
    names = columns.find(list(source.column_names or ()), title)
    for batch in source.select_columns([name for name in names if name is not None]).iter(_BATCH):
        yield from _zip_columns(names, batch)


def _data_frame(source: Any, columns: _ColumnNames, title: str) -> Iterator[RowCells]:
    return _zip_columns(columns.find(list(source.columns), title), source)


def _zip_columns(names: Iterable[str | None], columns: Any) -> Iterator[RowCells]:
    return zip(*(repeat(None) if name is None else columns[name] for name in names), strict=False)


def _id_fault(role: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and not value):
        return f"{role} is empty: give every row an id, or none."
    if not isinstance(value, str | Integral) or not is_unicode(str(value)):
        return f"{role} is {short_repr(value)}: give every row a text or a whole number as id."
    return None


def _finite_number(value: Any) -> float | None:
    """Return the value as a finite number, or None if it is not one."""
    if isinstance(value, str) and "_" in value:  # Python reads 1_0 as 10
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < _MAX_LABEL else None


def _naming_hint(role: str, what: str, names: Iterable[object]) -> str:
    listed = ", ".join(short_repr(name) for name in islice(names, 20)) or "none"
    return f"the {what} are {listed}; name the one to use with {role}='NAME'."
