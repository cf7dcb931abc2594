"""Finds the column of each role in a table: by the name that was given, or by one of the names in common use."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from pairlight.core.errors import InputError
from pairlight.text.checks import short_repr

RowCells = Sequence[object]

# Recognized where a table has no column with the name of the role, in any letter case, with or without underscores.
USUAL_NAMES: dict[str, tuple[str, ...]] = {
    "left": ("question", "query", "sentence1", "sentence_a", "premise", "text_a", "text1", "question1", "anchor"),
    "right": (
        "answer",
        "document",
        "passage",
        "sentence",
        "sentence2",
        "sentence_b",
        "hypothesis",
        "text_b",
        "text2",
        "question2",
        "positive",
    ),
    "label": (
        "score",
        "is_duplicate",
        "relevance",
        "relevant",
        "is_relevant",
        "similarity",
        "similarity_score",
        "relatedness_score",
        "is_match",
    ),
    "left_id": ("qid", "query_id", "question_id"),
    "right_id": ("did", "doc_id", "passage_id", "sentence_id"),
    "text": ("document", "passage", "answer", "sentence", "right"),
    "id": ("right_id", "did", "doc_id"),
    "title": (),
    "query": ("text", "question", "left"),
    "query_id": ("id", "qid", "question_id", "left_id"),
}


@dataclass(frozen=True)
class Column:
    """What is read from one column; its default name is that of its role."""

    role: str
    name: str | None  # None if it is not read
    required: bool = True

    @property
    def is_named(self) -> bool:
        """Whether the user has named the column, so that no other one may be used."""
        return self.name != self.role


class TableColumns:
    """The columns that are read from a table, and those found in it."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self.used: dict[str, str] = {}  # the column of every role that was found
        self.unused: list[str] = []  # the other columns
        self._keys: list[str | None] | None = None  # for rows that are mappings
        self._named = {each.name for each in columns if each.is_named}

    def find(self, header: Sequence[object], source: str, *, is_line: bool = False) -> list[str | None]:
        """The name of every column in order, with None for an optional one that the header does not have.

        `is_line` says that the header is the first line of the file, which may be data.
        """
        names: list[str | None] = []
        for each in self.columns:
            name = self._choose(each, header, source)
            if name is None and each.required:
                hint = _naming_hint(each.role, "columns", header)
                if is_line and not each.is_named:
                    hint = f"{hint[:-1]}, or add a line with the names of the columns if the first line is data."
                raise InputError(f"{source} has no column {each.name!r}: {hint}", option=each.role)
            names.append(name)
        self._set_used(names, header)
        return names

    def cells(self, row: Mapping[str, object], source: str) -> RowCells | str:
        """The cells of a JSON object or dict, or its fault; the first row with all required keys decides the names."""
        if self._keys is None:
            found = [self._choose(each, list(row), source) for each in self.columns]
            for each, name in zip(self.columns, found, strict=True):
                if name is None and each.required:
                    return _missing_key(each, each.name, row)
            self._set_used(found, list(row))
            self._keys = [name or each.name for each, name in zip(self.columns, found, strict=True)]
        for each, name in zip(self.columns, self._keys, strict=True):
            if each.required and name not in row:
                return _missing_key(each, name, row)
        return [None if name is None else row.get(name) for name in self._keys]

    def _set_used(self, names: Sequence[str | None], header: Sequence[object]) -> None:
        self.unused = [str(name) for name in header if name not in names]
        self.used = {
            each.role: name for each, name in zip(self.columns, names, strict=True) if each.name and name is not None
        }

    def _choose(self, column: Column, header: Sequence[object], source: str) -> str | None:
        if column.name is None:
            return None
        if column.name in header:
            return _unique(column, [column.name] * header.count(column.name), source)
        if column.is_named:
            return None
        free = [str(name) for name in header if name not in self._named]
        usual = {_plain(name) for name in USUAL_NAMES[column.role]}
        by_case = [name for name in free if _plain(name) == _plain(column.role)]
        found = by_case or [name for name in free if _plain(name) in usual]
        return _unique(column, found, source) if found else None


def _unique(column: Column, names: list[str], source: str) -> str:
    if len(set(names)) > 1:
        listed = ", ".join(map(repr, names))
        raise InputError(
            f"{source} has more than one column that could be {column.role}: {listed}; name the one to use with "
            f"{column.role}='NAME'.",
            option=column.role,
        )
    if len(names) > 1:
        raise InputError(f"{source} has more than one column {names[0]!r}: rename all but one.", option=column.role)
    return names[0]


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter not in "_- ")


def _missing_key(column: Column, name: str | None, row: Mapping[str, object]) -> str:
    return f"there is no key {name!r}: {_naming_hint(column.role, 'keys', row)}"


def _naming_hint(role: str, what: str, names: Iterable[object]) -> str:
    listed = ", ".join(short_repr(name) for name in islice(names, 20)) or "none"
    return f"the {what} are {listed}; name the one to use with {role}='NAME'."
