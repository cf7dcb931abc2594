"""Reads tables of text pairs from files, lists and data frames; errors name the line and the fix.

The reader of each format yields the number of a row with its cells (left, right, label, left_id, right_id; None where
the source has no such column), or with a message if the row is bad.
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

Cells = Sequence[object]
NumberedRows = Iterator[tuple[int, Cells | str]]  # the number of a row, and its cells or what is wrong with it

EXTENSIONS = (".tsv", ".csv", ".jsonl", ".tsv.gz", ".csv.gz", ".jsonl.gz", ".parquet")

_OPENING_QUOTE = re.compile('([^"]*,)?"')  # the first quote of a line, at the beginning of a field
_MAX_LABEL = 3.4e38  # of float32
_MAX_ERRORS = 5
_BATCH = 10_000


@dataclass(frozen=True)
class ReadReport:
    """What reading met: the rows seen, how many of them were bad and skipped, and what the first of those were."""

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
    """The pair table of a file, of a list of tuples (left, right, label) or of dicts, or of a data frame.

    Files are UTF-8 with a header line that names the columns; `header` names them for a .tsv or .csv file without one.
    A column `left_id` or `right_id` is read where there is one; in JSON lines and dicts, where the first row has it.
    So is the label where `need_label` is None; where it is False, the label is not read at all.
    """
    if isinstance(source, Pairs):
        if need_label and source.label is None:
            raise InputError("These Pairs have no labels: give Pairs.of the column label.")
        return source, ReadReport(len(source))
    columns = _ColumnNames(
        left, right, None if need_label is False else label, left_id, right_id, need_label is not True
    )
    name, unit, rows = _opened(source, columns, header)
    table = _PairsBuilder(need_label)
    seen = skipped = 0
    first_errors: list[str] = []
    for at, row in rows:
        seen += 1
        fault = row if isinstance(row, str) else table.add(row)
        if fault is None:
            continue
        error = f"{name}, {unit} {at}: {fault}"
        if not skip_bad_rows:
            raise InputError(f"{error} (--skip-bad-rows leaves bad rows out.)")
        skipped += 1
        if skipped <= _MAX_ERRORS:
            first_errors.append(error)
    if not seen:
        raise InputError(f"{name} holds no pairs: give at least one row.")
    if skipped == seen:
        raise InputError(f"{name} holds no good row among {seen}. The first fault: {first_errors[0]}")
    return table.pairs(), ReadReport(seen, skipped, tuple(first_errors))


@dataclass(frozen=True)
class _ColumnNames:
    """The names of the columns to be read; the label's is None where labels are not wanted."""

    left: str
    right: str
    label: str | None
    left_id: str
    right_id: str
    may_lack_label: bool

    def wanted(self) -> Iterator[tuple[str, str | None, bool]]:
        """Every column's role, its name, and whether a table may lack it."""
        yield "left", self.left, False
        yield "right", self.right, False
        yield "label", self.label, self.may_lack_label
        yield "left_id", self.left_id, self.left_id == "left_id"
        yield "right_id", self.right_id, self.right_id == "right_id"

    def among(self, header: Sequence[object], source: str) -> list[str | None]:
        """The names of the five columns, None for one that the header of a table lacks."""
        names: list[str | None] = []
        for role, name, optional in self.wanted():
            if header.count(name) > 1:
                raise InputError(f"{source} has more than one column {name!r}: rename all but one.")
            if name not in header and not optional:
                raise InputError(f"{source} has no column {name!r}: {_remedy(role, 'columns', header)}")
            names.append(name if name in header else None)
        return names

    def within(self, row: Mapping[str, object]) -> Cells | str:
        """The cells of one JSON object or dict."""
        for role, name, optional in self.wanted():
            if name not in row and not optional:
                return f"no key {name!r}: {_remedy(role, 'keys', row)}"
        return [None if name is None else row.get(name) for _, name, _ in self.wanted()]


class _PairsBuilder:
    """The columns while they grow; a text or left id that comes again is kept once."""

    def __init__(self, need_label: bool | None) -> None:
        self.has_label = bool(need_label)
        self.may_lack_label = need_label is None
        self.known: dict[str, str] = {}
        self.left: list[str] = []
        self.right: list[str] = []
        self.label = array("f")
        self.left_id: list[str] = []
        self.right_id: list[str] = []
        self.has_left_id = self.has_right_id = False

    def add(self, row: Cells) -> str | None:
        """Take a row in, or say its fault."""
        left, right, label, left_id, right_id = row
        if fault := _text_fault("left", left) or _text_fault("right", right):
            return fault
        if self.may_lack_label and not self.left:
            self.has_label = label is not None
        if self.may_lack_label and (label is not None) != self.has_label:
            return f"the label is {short_repr(label)}, unlike the first row's: give every row one, or none."
        number = _number(label) if self.has_label else 0.0
        if number is None:
            return f"the label {short_repr(label)} is no number: write one, such as 0 or 1."
        if not self.left:
            self.has_left_id, self.has_right_id = left_id is not None, right_id is not None
        if self.has_left_id and (fault := _id_fault("left_id", left_id)):
            return fault
        if self.has_right_id and (fault := _id_fault("right_id", right_id)):
            return fault
        keep = self.known.setdefault
        self.left.append(keep(left, left))  # type: ignore[arg-type]  # it was found to be a text
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


def _opened(source: Any, columns: _ColumnNames, header: Sequence[str] | None) -> tuple[str, str, NumberedRows]:
    """What to call a source, what to call the place of a row in it, and its rows."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        kind = _kind(path)
        if header is not None and kind not in (".tsv", ".csv"):
            raise InputError(f"{path} names its columns itself: header is only for .tsv and .csv files.")
        match kind:
            case ".tsv":
                return str(path), "line", _delimited(_tsv(_lines(path)), columns, header, path, "put no tab in a text")
            case ".csv":
                return (
                    str(path),
                    "line",
                    _delimited(_csv(_lines(path)), columns, header, path, "quote a text with a comma"),
                )
            case ".jsonl":
                return str(path), "line", _jsonl(_lines(path), columns)
            case _:
                return str(path), "row", enumerate(_parquet(path, columns), 1)
    if header is not None:
        raise InputError("header is only for .tsv and .csv files: leave it out for a table in memory.")
    name = f"the {type(source).__name__}"
    if hasattr(source, "column_names") and hasattr(source, "iter"):  # a Hugging Face Dataset
        return name, "row", enumerate(_dataset(source, columns, name), 1)
    if hasattr(source, "itertuples") or hasattr(source, "iter_rows"):  # a pandas or polars DataFrame
        return name, "row", enumerate(_frame(source, columns, name), 1)
    if isinstance(source, Iterable) and not isinstance(source, bytes | Mapping):
        return name, "row", _sequence(source, columns)
    raise InputError(
        f"A {type(source).__name__} is no table of pairs: give a path, a list of tuples or dicts, "
        "a DataFrame or one split of a Dataset."
    )


def _kind(path: Path) -> str:
    """The extension that says how to read a file, without .gz."""
    if os.path.isdir(path):  # unlike Path's own, these never raise
        raise InputError(f"{path} is a folder: give a file in it.")
    name = path.name.lower()
    found = [extension for extension in EXTENSIONS if name.endswith(extension)]
    if not found:
        raise InputError(f"{path} has no known extension: rename it to one of {', '.join(EXTENSIONS)}.")
    if not os.path.exists(path):
        raise InputError(f"There is no file {path}: check its name and the folder.")
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise InputError(f"{path} is empty: its first line must name the columns, and pairs must follow.")
    return found[0].removesuffix(".gz")


def _lines(path: Path) -> Iterator[str]:
    try:
        opened = gzip.open if path.name.lower().endswith(".gz") else open
        # newline: Python's own line ends would split a text at a lone carriage return.
        with opened(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="\n") as lines:
            yield from lines
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is no sound gzip file ({error}): fetch or compress it anew.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None


def _tsv(lines: Iterable[str]) -> NumberedRows:
    for at, line in enumerate(lines, 1):
        line = line.removesuffix("\n").removesuffix("\r")
        if line:
            yield at, line.split("\t")


def _csv(lines: Iterable[str]) -> NumberedRows:
    source, again, taken = iter(lines), deque[str](), list[str]()

    def fed() -> Iterator[str]:
        while again or (line := next(source, None)) is not None:
            taken.append(again.popleft() if again else str(line))
            yield taken[-1]

    reader, at = csv.reader(fed(), strict=True), 1
    while True:
        taken.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            wrong = f"broken CSV ({error}): close every quote, and double a quote mark within quotes."
            if "field limit" in str(error):
                wrong = f"a text of more than {csv.field_size_limit():,} characters: close its quote, or shorten it."
            yield at, wrong
            # A quote left open took in the lines that follow, up to one that begins with a quote: they are read again.
            if "end of data" in str(error) or "field limit" in str(error) or _OPENING_QUOTE.match(taken[-1]):
                again.extendleft(reversed(taken[1:]))
                del taken[1:]
            reader, at = csv.reader(fed(), strict=True), at + len(taken)
        else:
            if cells:
                yield at, cells
            at += len(taken)


def _delimited(
    rows: NumberedRows, columns: _ColumnNames, header: Sequence[object] | None, path: Path, remedy: str
) -> NumberedRows:
    if header is None:
        first = next(rows, (1, ""))[1]
        if isinstance(first, str) or not all(is_unicode(str(name)) for name in first):
            raise InputError(f"{path} has no header to be read: save it as UTF-8, its first line naming the columns.")
        header = first
    pick = itemgetter(*(-1 if name is None else header.index(name) for name in columns.among(header, str(path))))
    for at, cells in rows:
        if isinstance(cells, str):
            yield at, cells
        elif len(cells) == len(header):
            yield at, pick([*cells, None])
        else:
            yield at, f"{len(cells)} fields where there are {len(header)} columns: leave none out, and {remedy}."


def _jsonl(lines: Iterable[str], columns: _ColumnNames) -> NumberedRows:
    for at, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield at, f"{short_repr(line.strip())} is no JSON ({error}): write one object a line."
        else:
            if isinstance(row, dict):
                yield at, columns.within(row)
            else:
                yield at, f'{short_repr(row)} is no JSON object: write one such as {{"left": ..., "right": ...}}.'


def _sequence(source: Iterable[object], columns: _ColumnNames) -> NumberedRows:
    widths = (2, 3) if columns.may_lack_label else (3,)
    for at, row in enumerate(source, 1):
        if isinstance(row, Mapping):
            yield at, columns.within(row)
        elif isinstance(row, Sequence) and not isinstance(row, str | bytes) and len(row) in widths:
            yield at, (row[0], row[1], row[2] if len(row) == 3 else None, None, None)
        else:
            shape = "(left, right)" if columns.may_lack_label else "(left, right, label)"
            yield at, f"{short_repr(row)} is no pair: give {shape} or a dict."


def _parquet(path: Path, columns: _ColumnNames) -> Iterator[Cells]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(f"{path} needs pyarrow to be read: pip install 'pairlight[parquet]'.") from None
    try:
        with pq.ParquetFile(path) as file:
            names = columns.among(file.schema_arrow.names, str(path))
            for batch in file.iter_batches(_BATCH, columns=[name for name in names if name is not None]):
                yield from _zip_columns(names, {name: batch.column(name).to_pylist() for name in batch.schema.names})
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} cannot be read as Parquet ({str(error).splitlines()[0]}): write it anew.") from None


def _dataset(source: Any, columns: _ColumnNames, title: str) -> Iterator[Cells]:
    names = columns.among(list(source.column_names or ()), title)
    for batch in source.select_columns([name for name in names if name is not None]).iter(_BATCH):
        yield from _zip_columns(names, batch)


def _frame(source: Any, columns: _ColumnNames, title: str) -> Iterator[Cells]:
    return _zip_columns(columns.among(list(source.columns), title), source)


def _zip_columns(names: Iterable[str | None], columns: Any) -> Iterator[Cells]:
    return zip(*(repeat(None) if name is None else columns[name] for name in names), strict=False)


def _text_fault(role: str, value: object) -> str | None:
    if not isinstance(value, str):
        return f"{role} is {short_repr(value)}, which is no text: give every pair two texts."
    if not value or value.isspace():
        return f"the {role} text is empty: give every pair two texts."
    if "\0" in value:
        return f"the {role} text {short_repr(value)} holds a NUL byte: remove it."
    if not is_unicode(value):
        return f"the {role} text {short_repr(value)} is not valid UTF-8: save the texts as UTF-8."
    return None


def _id_fault(role: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and not value):
        return f"{role} is empty: give every row one, or none."
    if not isinstance(value, str | Integral) or not is_unicode(str(value)):
        return f"{role} is {short_repr(value)}, neither a text nor a whole number: give every row one of these."
    return None


def is_unicode(text: str) -> bool:
    # The undecodable bytes of a file arrive as lone surrogates, and JSON may spell one out.
    return text.isascii() or not _SURROGATE.search(text)


def _number(value: Any) -> float | None:
    """The value as a finite number, if it is one."""
    if isinstance(value, str) and "_" in value:  # Python reads 1_0 as 10
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < _MAX_LABEL else None


def _remedy(role: str, what: str, names: Iterable[object]) -> str:
    flag = role.replace("_", "-")
    listed = ", ".join(short_repr(name) for name in islice(names, 20)) or "none"
    return f"the {what} are {listed}; name the one to use with --{flag} NAME (in Python {role}='NAME')."
