"""Reads tables of text pairs from files, lists and data frames."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

from pairlight.core.errors import InputError
from pairlight.data.blocks import MAX_BYTES
from pairlight.data.columns import Column, RowCells, TableColumns
from pairlight.data.pairs import Pairs
from pairlight.data.source_table import SourceTable, SourceTableBuilder
from pairlight.data.tables import WholeRows, open_table
from pairlight.text.checks import is_unicode, short_repr, text_fault

_MAX_LABEL = 3.4e38  # of float32
_MAX_ERRORS = 5
_LABEL_WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


@dataclass(frozen=True)
class ReadReport:
    """The number of rows read and of bad rows skipped, the errors of the first bad rows, and the columns."""

    rows: int
    skipped: int = 0
    first_errors: tuple[str, ...] = ()
    columns: dict[str, str] = field(default_factory=dict)  # by role: left, right, label, left_id, right_id
    unused: tuple[str, ...] = ()  # the other columns


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
    names in `header`. A column that is not named here and does not exist under its default name is recognized by the
    names in common use, such as question and answer (`USUAL_NAMES`); the report has the columns that were used. The
    columns `left_id` and `right_id` are read if the source has them; in JSON Lines and dicts, if the first row has
    them. Labels are required if `need_label` is True, read if present if it is None, and not read if it is False.
    """
    if isinstance(source, Pairs):
        if need_label and source.label is None:
            raise InputError("These Pairs have no labels: pass label=... to Pairs.of.", option="label")
        return source, ReadReport(len(source))
    columns = _pair_columns(left, right, label, left_id, right_id, need_label)
    reader = _PairsReader(source, columns, header, skip_bad_rows, need_label)
    (pairs,) = reader
    return pairs, reader.report


class PairsAndTables:
    """Reads the pairs of a file without labels, and all columns of their rows, to write them again with scores.

    Iterating gives at most `rows` pairs at a time with their columns; `report` is complete after the last ones.
    """

    def __init__(
        self,
        source: str | Path,
        *,
        left: str = "left",
        right: str = "right",
        left_id: str = "left_id",
        right_id: str = "right_id",
        skip_bad_rows: bool = False,
        rows: int | None = None,
    ) -> None:
        columns = _pair_columns(left, right, "label", left_id, right_id, False)
        self._whole = SourceTableBuilder(WholeRows())
        self._reader = _PairsReader(source, columns, None, skip_bad_rows, False, self._whole, rows)

    def __iter__(self) -> Iterator[tuple[Pairs, SourceTable]]:
        for pairs in self._reader:
            ids = [name for role, name in self.report.columns.items() if role in ("left_id", "right_id")]
            yield pairs, self._whole.table(ids)

    @property
    def report(self) -> ReadReport:
        return self._reader.report


def _pair_columns(
    left: str, right: str, label: str, left_id: str, right_id: str, need_label: bool | None
) -> TableColumns:
    return TableColumns(
        [
            Column("left", left),
            Column("right", right),
            Column("label", None if need_label is False else label, required=need_label is True),
            Column("left_id", left_id, required=left_id != "left_id"),
            Column("right_id", right_id, required=right_id != "right_id"),
        ]
    )


class _PairsReader:
    """Gives the pairs of a source, at most `rows` at a time, fewer of long texts, and reports what was read so far."""

    def __init__(
        self,
        source: Any,
        columns: TableColumns,
        header: Sequence[str] | None,
        skip_bad_rows: bool,
        need_label: bool | None,
        whole: SourceTableBuilder | None = None,
        rows: int | None = None,
    ) -> None:
        self.table = open_table(source, columns, header, None if whole is None else whole.rows)
        self.columns, self.skip_bad_rows, self.need_label, self.whole = columns, skip_bad_rows, need_label, whole
        self.rows = rows
        self.count = self.skipped = 0
        self.first_errors: list[str] = []

    def __iter__(self) -> Iterator[Pairs]:
        builder, volume = _PairsBuilder(self.need_label), 0
        for number, row in self.table.rows:
            self.count += 1
            fault = row if isinstance(row, str) else builder.add(row)
            if fault is not None:
                self._skip(f"{self.table.name}, {self.table.unit} {number}: {fault}")
                continue
            volume += 0 if self.whole is None else self.whole.keep()
            if self.rows is not None and (len(builder.left) == self.rows or volume > MAX_BYTES):
                yield builder.pairs()
                builder, volume = _PairsBuilder(self.need_label), 0
        if not self.count:
            raise InputError(f"{self.table.name} contains no pairs: give at least one row.")
        if self.skipped == self.count:
            raise InputError(
                f"All {self.count} rows of {self.table.name} are bad. The first error: {self.first_errors[0]}"
            )
        if builder.left:
            yield builder.pairs()

    @property
    def report(self) -> ReadReport:
        columns = self.columns
        return ReadReport(self.count, self.skipped, tuple(self.first_errors), columns.used, tuple(columns.unused))

    def _skip(self, error: str) -> None:
        if not self.skip_bad_rows:
            raise InputError(f"{error} Or pass skip_bad_rows=True to leave out bad rows.", option="skip_bad_rows")
        self.skipped += 1
        if self.skipped <= _MAX_ERRORS:
            self.first_errors.append(error)


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
            return f"the label {short_repr(label)} is not a number: write one, such as 0 or 1, or yes or no."
        if not self.left:
            self.has_left_id, self.has_right_id = left_id is not None, right_id is not None
        if self.has_left_id and (fault := id_fault("left_id", left_id)):
            return fault
        if self.has_right_id and (fault := id_fault("right_id", right_id)):
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


def id_fault(role: str, value: object) -> str | None:
    """Describe why a value cannot be used as an id; None if it can be used."""
    if value is None or (isinstance(value, str) and not value):
        return f"{role} is empty: give every row an id, or none."
    if not isinstance(value, str | Integral) or not is_unicode(str(value)):
        return f"{role} is {short_repr(value)}: give every row a text or a whole number as id."
    if "\0" in str(value):
        return f"{role} is {short_repr(value)}, with a NUL character: remove it."
    return None


def _finite_number(value: Any) -> float | None:
    """Return the value as a finite number, or None if it is not one; true and yes are 1, false and no are 0."""
    if isinstance(value, str):
        if (word := value.strip().casefold()) in _LABEL_WORDS:
            return _LABEL_WORDS[word]
        if "_" in value:  # Python reads 1_0 as 10
            return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < _MAX_LABEL else None
