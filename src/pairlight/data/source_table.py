"""A file of pairs with all its columns, to which new columns are added before it is written again."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write
from pairlight.data.tables import WholeRows
from pairlight.text.checks import is_unicode

OUTPUT_FORMATS = ("tsv", "csv", "jsonl", "parquet")

_LINE_BREAKS = re.compile(r"[\t\r\n]+")
_ABSENT = object()  # the value of a key that a JSON object does not have


@dataclass(frozen=True)
class SourceTable:
    """The rows of a file that were read, with all columns in order."""

    names: list[str]
    rows: list[list[Any]]
    schema: Any = None  # the Arrow schema of a Parquet file, so that its types are kept
    ids: Sequence[str] = ()  # the columns of ids, which must stay distinct

    def with_columns(self, added: Mapping[str, Sequence[float]]) -> "SourceTable":
        """Add columns of numbers on the right, with seven digits."""
        rounded = [[float(f"{value:.7g}") for value in values] for values in added.values()]
        rows = [[*row, *values] for row, *values in zip(self.rows, *rounded, strict=True)]
        return replace(self, names=[*self.names, *added], rows=rows)

    def text(self, kind: str, header: bool = True) -> Iterator[str]:
        """The lines of the table as tsv, csv or jsonl."""
        if kind == "jsonl":
            self._check_distinct(kind)
            for row in self.rows:
                found = {name: each for name, each in zip(self.names, row, strict=True) if each is not _ABSENT}
                yield json.dumps(_unicode(found), ensure_ascii=False, default=str) + "\n"
            return
        if header:
            yield _line(self.names, kind)
        ids = [self.names.index(name) for name in self.ids] if kind == "tsv" else []
        for row in self.rows:
            cells = [_text(each) for each in row]
            for column in ids:
                if _LINE_BREAKS.search(cells[column]):
                    raise InputError(
                        f"The id {cells[column]!r} has a tab or a line break, which .tsv cannot have: write .csv, "
                        ".jsonl or .parquet.",
                        option="out",
                    )
            yield _line(cells, kind)

    def arrow(self) -> Any:
        """The table in Arrow's format."""
        try:
            import pyarrow as pa
        except ImportError:
            raise InputError("Writing Parquet needs pyarrow: pip install 'pairlight[parquet]'.", option="out") from None
        self._check_distinct("parquet")
        columns = []
        for name, values in zip(self.names, zip(*self.rows, strict=True), strict=True):
            present = [None if each is _ABSENT else each for each in values]
            if self.schema is not None and name in self.schema.names:
                columns.append(pa.array(present, self.schema.field(name).type))
                continue
            try:
                columns.append(pa.array(_unicode(present)))
            except pa.ArrowException:  # JSON values of different types
                columns.append(pa.array([None if each is None else _text(each) for each in present]))
        return pa.table(dict(zip(self.names, columns, strict=True)))

    def _check_distinct(self, kind: str) -> None:
        repeated = next((name for name in self.names if self.names.count(name) > 1), None)
        if repeated is not None:
            raise InputError(
                f"The file has more than one column {repeated!r}, which .{kind} cannot have: rename all but one, or "
                "write .tsv or .csv.",
                option="out",
            )


def write_tables(path: Path, tables: Iterable[SourceTable]) -> None:
    """Write tables with the same columns into one file in the format of its extension, atomically."""
    kind = path.suffix.removeprefix(".")
    with atomic_write(path) as file, ExitStack() as stack:
        writer: Any = None
        for number, table in enumerate(tables):
            if kind != "parquet":
                file.writelines(line.encode("utf-8") for line in table.text(kind, header=number == 0))
                continue
            arrow = table.arrow()
            if writer is None:
                from pyarrow.parquet import ParquetWriter

                writer = stack.enter_context(ParquetWriter(file, arrow.schema))
            writer.write_table(arrow)


def reads_whole(source: str, kind: str) -> bool:
    """Whether a file must be read whole before it is written in this format.

    The columns of a table of JSON lines are known when all of its lines are read.
    """
    return kind != "jsonl" and source.lower().endswith((".jsonl", ".jsonl.gz"))


class SourceTableBuilder:
    """Keeps the rows that pairs were read from."""

    def __init__(self, rows: WholeRows) -> None:
        self.rows = rows
        self._kept: list[Any] = []

    def keep(self) -> int:
        """Keep the row that was read last, and return how many characters it has."""
        row = self.rows.last
        self._kept.append(row)
        cells = row.values() if isinstance(row, dict) else row
        return sum(len(cell) for cell in cells if isinstance(cell, str))

    def table(self, ids: Sequence[str]) -> SourceTable:
        """The rows that were kept since the last call; `ids` are the columns of ids."""
        kept, self._kept = self._kept, []
        if self.rows.names:
            return SourceTable(self.rows.names, [list(row) for row in kept], self.rows.schema, ids)
        names = list(dict.fromkeys(key for row in kept for key in row))
        rows = [[row.get(name, _ABSENT) for name in names] for row in kept]
        return SourceTable(_unicode(names), rows, None, _unicode(list(ids)))


def _line(values: Sequence[str], kind: str) -> str:
    if kind == "tsv":
        return "\t".join(_LINE_BREAKS.sub(" ", value) for value in values) + "\n"
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(values)
    return line.getvalue()


def _text(value: Any) -> str:
    """A cell of a .tsv or .csv file: texts and numbers as they are, true, false, lists and objects as JSON."""
    if value is None or value is _ABSENT:
        return ""
    if isinstance(value, bool | list | dict):
        return json.dumps(_unicode(value), ensure_ascii=False, default=str)
    return str(_unicode(str(value)))


def _unicode(value: Any) -> Any:
    """The value with a question mark for each byte that is not UTF-8; only texts of pairs are checked for them."""
    if isinstance(value, str):
        return value if is_unicode(value) else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_unicode(key): _unicode(each) for key, each in value.items()}
    return [_unicode(each) for each in value] if isinstance(value, list) else value
