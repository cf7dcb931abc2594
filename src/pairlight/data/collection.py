"""Collections of texts to rank or encode, and how they are read from a file of lines or from a table."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from pairlight.core.errors import InputError
from pairlight.data.columns import Column, TableColumns
from pairlight.data.readers import id_fault
from pairlight.data.tables import EXTENSIONS, open_table
from pairlight.text.checks import short_repr, text_fault


@dataclass(frozen=True)
class Collection:
    """Texts, with an id for each where the source has ids."""

    ids: list[str] | None
    texts: list[str]
    columns: dict[str, str] = field(default_factory=dict, compare=False)  # those of the table it was read from

    def __post_init__(self) -> None:
        if self.ids is not None and len(self.ids) != len(self.texts):
            raise InputError(
                f"A collection has {len(self.ids)} ids, but {len(self.texts)} texts: give one id for each text."
            )

    def __len__(self) -> int:
        return len(self.texts)

    def text_id(self, number: int) -> str | None:
        """The id of a text, None where texts have no ids."""
        return None if self.ids is None else self.ids[number]


def read_collection(source: str | Path, *, text: str = "text", id: str = "id") -> Collection:
    """Read the texts of a table (.tsv, .csv, .jsonl, .parquet) with their ids, or the lines of any other file.

    `text` and `id` name columns of a table. Without them, the usual names are recognized, such as document and doc_id;
    the ids are read if there are any. The source "-" is standard input, as lines. Empty lines are skipped.
    """
    if str(source).lower().endswith(EXTENSIONS):
        return _read_table(source, text, id)
    for name, value in (("text", text), ("id", id)):
        if value != name:
            raise InputError(
                f"{source} is read as lines, which have no columns: remove this, or give a table "
                f"({', '.join(EXTENSIONS)}).",
                option=name,
            )
    return _read_lines(source)


def _read_table(source: str | Path, text: str, id: str) -> Collection:
    columns = TableColumns([Column("text", text), Column("id", id, required=id != "id")])
    table = open_table(source, columns)
    texts: list[str] = []
    ids: list[str] = []
    known: dict[str, str] = {}  # a small Parquet file can have a long text in every row
    for number, row in table.rows:
        fault = row if isinstance(row, str) else None
        value, name = (None, None) if isinstance(row, str) else row
        if fault is None and (problem := text_fault(value)):
            fault = f"the text {short_repr(value)} {problem}"
        if fault is None and "id" in columns.used:
            fault = id_fault("id", name)
        if fault is not None:
            raise InputError(f"{table.name}, {table.unit} {number}: {fault}")
        texts.append(known.setdefault(str(value), str(value)))
        ids.append(str(name))
    if not texts:
        raise InputError(f"{table.name} contains no text: give at least one row.")
    return Collection(ids if "id" in columns.used else None, texts, columns.used)


def _read_lines(source: str | Path) -> Collection:
    name = "standard input" if source == "-" else str(source)
    try:
        content = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        decoded = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not valid UTF-8 at byte {error.start}: save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read ({error.strerror}): give a file with one text per line.") from None
    texts = []
    ending = "\r" if "\n" not in decoded else "\n"  # lone carriage returns are line ends of old programs
    for number, line in enumerate(decoded.split(ending), 1):  # splitlines would also split at characters inside a text
        text = line.strip()
        if not text:
            continue
        if (fault := text_fault(text)) is not None:
            raise InputError(f"{name}, line {number}: the text {fault}")
        texts.append(text)
    if not texts:
        raise InputError(f"{name} contains no text: give at least one line with a text.")
    return Collection(None, texts)
