"""Documents of a collection, with the readers of documents, queries and relevance judgments."""

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pairlight.core.errors import InputError
from pairlight.data.collection import read_collection
from pairlight.data.columns import Column, TableColumns
from pairlight.data.readers import id_fault
from pairlight.data.tables import EXTENSIONS, WholeRows, open_table
from pairlight.evaluation.trec import read_qrels, read_topics
from pairlight.text.checks import check_text, is_unicode, short_repr, text_fault

Where = Mapping[str, str | Sequence[str]]  # the allowed value, or values, of each field
Relevance = dict[str, dict[str, int]]  # grades by query and document

MAX_ID = 500  # characters; engines limit the length of what they look up
MAX_FILTER = 200  # characters of a value that can be filtered by, and of the name of a field
MAX_FIELDS = 1000  # of a document
MAX_LEVELS = 20  # of lists and objects in a field; what writes answers refuses to go much deeper

BEIR_CORPUS, BEIR_QUERIES, BEIR_QRELS = "corpus.jsonl", "queries.jsonl", "qrels"


@dataclass(frozen=True)
class Document:
    """A text with its id, and other fields that are returned with it and can be filtered by."""

    id: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    encoding: bytes | None = field(default=None, repr=False, compare=False)  # stored by an index, to rerank faster

    def check(self) -> None:
        """Raise InputError if the document cannot be indexed."""
        if fault := id_fault("id", self.id) or (not isinstance(self.id, str) and "id is not a text: give a str."):
            raise InputError(f"A document's {fault}")
        if len(self.id) > MAX_ID:
            raise InputError(f"The id {short_repr(self.id)} has {len(self.id)} characters: use at most {MAX_ID}.")
        check_text(f"text of document {short_repr(self.id)}", self.text)
        if len(self.fields) > MAX_FIELDS or any(len(str(name)) > MAX_FILTER for name in self.fields):
            raise InputError(
                f"Document {short_repr(self.id)} has {len(self.fields)} fields: use at most {MAX_FIELDS}, with names "
                f"of at most {MAX_FILTER} characters."
            )
        if _is_nested(dict(self.fields), MAX_LEVELS):
            raise InputError(
                f"The fields of document {short_repr(self.id)} are nested: use at most {MAX_LEVELS} levels."
            )
        try:
            json.dumps(dict(self.fields), ensure_ascii=False).encode("utf-8")
        except (TypeError, ValueError) as error:
            raise InputError(f"The fields of document {short_repr(self.id)} are not JSON ({error}).") from None


def _is_nested(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested deeper than this."""
    if not isinstance(value, dict | list | tuple):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels < 0 or any(_is_nested(each, levels - 1) for each in inner)


def filter_terms(fields: Mapping[str, Any]) -> list[str]:
    """The terms name=value that a document can be filtered by; a list has one for each of its values."""
    return [
        f"{name}={_filter_value(each)}"
        for name, value in fields.items()
        for each in (value if isinstance(value, list | tuple) else [value])
        if isinstance(each, str | int | float) and len(str(each)) <= MAX_FILTER
    ]


def where_terms(where: Where | None) -> list[list[str]]:
    """For every field of a filter, its terms, one of which a document must have."""
    values = {name: [value] if isinstance(value, str) else list(value) for name, value in (where or {}).items()}
    return [[f"{name}={_filter_value(each)}" for each in allowed] for name, allowed in values.items()]


def matches(fields: Mapping[str, Any], where: Where | None) -> bool:
    """Whether a document with these fields passes a filter."""
    wanted = where_terms(where)
    if not wanted:
        return True
    terms = set(filter_terms(fields))
    return all(not terms.isdisjoint(allowed) for allowed in wanted)


def _filter_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_documents(
    source: str | Path, *, text: str = "text", id: str = "id", title: str = "title", header: Sequence[str] | None = None
) -> Iterator[Document]:
    """Read documents one by one from a table, a BEIR folder or the lines of any other file.

    All columns of a table are kept as fields. A title is put before the text. Without a column of ids, and for lines,
    the number of the row, from 1 on, is the id. Usual names of columns are recognized.
    """
    path = Path(source)
    if path.is_dir():
        if not (path / BEIR_CORPUS).is_file():
            raise InputError(f"{path} is a folder without {BEIR_CORPUS}: give a file, or a folder in BEIR's format.")
        path = path / BEIR_CORPUS
    if not str(path).lower().endswith(EXTENSIONS):
        for number, each in enumerate(read_collection(source, text=text, id=id).texts, 1):
            yield Document(str(number), each)
        return
    columns = TableColumns(
        [
            Column("text", text),
            Column("id", id, required=id != "id"),
            Column("title", title, required=title != "title"),
        ]
    )
    whole = WholeRows()
    table = open_table(path, columns, header, whole)
    number = 0
    for line, row in table.rows:
        fault = row if isinstance(row, str) else None
        body, name, heading = (None, None, None) if isinstance(row, str) else row
        if fault is None and "id" in columns.used:
            fault = id_fault("id", name)
        joined = _with_title(heading, body)
        fault = fault or joined.fault
        if fault is not None:
            raise InputError(f"{table.name}, {table.unit} {line}: {fault}")
        number += 1
        yield Document(
            str(name) if "id" in columns.used else str(number), joined.text, _other_fields(whole, columns.used)
        )
    if not number:
        raise InputError(f"{table.name} contains no text: give at least one row.")


@dataclass(frozen=True)
class _TitledText:
    """A text with its title before it, or what is wrong with it."""

    text: str
    fault: str | None = None


def _with_title(title: object, body: object) -> _TitledText:
    if title is not None and not (isinstance(title, str) and is_unicode(title)):
        return _TitledText("", f"the title {short_repr(title)} is not a text: give a str.")
    joined = f"{title} {body}".strip() if title and isinstance(body, str) else body
    problem = text_fault(joined)
    return _TitledText(str(joined), f"the text {short_repr(joined)} {problem}" if problem else None)


def document_of(row: Mapping[str, Any], text: str, id: str, title: str | None) -> Document | str:
    """The document of a row with these columns, or what is wrong with it; other columns become fields."""
    joined = _with_title(None if title is None else row[title], row[text])
    fault = id_fault("id", row[id]) or joined.fault
    if fault is not None:
        return fault
    document = Document(str(row[id]), joined.text, _fields(row, {text, id}))
    try:
        document.check()
    except InputError as error:
        return str(error)
    return document


def _other_fields(whole: WholeRows, used: Mapping[str, str]) -> dict[str, Any]:
    row = whole.last if isinstance(whole.last, dict) else dict(zip(whole.names, whole.last, strict=False))
    return _fields(row, {used.get("text"), used.get("id")})


def _fields(row: Mapping[str, Any], taken: Set[str | None]) -> dict[str, Any]:
    return {name: _json_value(value) for name, value in row.items() if name not in taken and value not in (None, "")}


def _json_value(value: Any) -> Any:
    if isinstance(value, str):
        return value if is_unicode(value) else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, bool | int | float | list | dict):
        return value
    return str(value)  # such as a date of Parquet


def read_queries(source: str | Path) -> dict[str, str]:
    """Read queries by id: a table, a BEIR folder, topics of TREC, or lines 'id<TAB>query' without a header."""
    path = Path(source)
    if path.is_dir():
        path = path / BEIR_QUERIES
        if not path.is_file():
            raise InputError(f"{source} is a folder without {BEIR_QUERIES}: give a file.", option="queries")
    if _has_topics(path):
        return _unique(read_topics(path), path)
    if str(path).lower().endswith((".tsv", ".txt")) and (lines := _id_lines(path)) is not None:
        return lines
    table = open_table(path, TableColumns([Column("query", "query"), Column("query_id", "query_id")]))
    rows = []
    for number, row in table.rows:
        fault = row if isinstance(row, str) else id_fault("query_id", row[1]) or text_fault(row[0])
        if fault is not None:
            raise InputError(f"{table.name}, {table.unit} {number}: the query {fault}", option="queries")
        rows.append((str(row[1]), str(row[0])))
    return _unique(rows, path)


def _has_topics(path: Path) -> bool:
    """Whether this is a file of topics, whatever its name; a file that cannot be read is reported by its reader."""
    try:
        with path.open("rb") as file:
            start = file.read(1000).decode("utf-8-sig", "replace").strip().lower()
            return start.startswith("<") and "<top" in start
    except OSError:
        return False


def _id_lines(path: Path) -> dict[str, str] | None:
    """Queries of lines 'id<TAB>query', or None if the first line names columns."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not valid UTF-8 at byte {error.start}: save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give a file of queries.") from None
    names = {name.strip("_").lower() for name in lines[0].strip().split("\t")}
    if names & {"id", "text", "query", "question", "qid", "query_id", "query-id"}:
        return None
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        name, tab, query = line.rstrip("\r").partition("\t")
        if not tab or (fault := text_fault(query)) or not name.strip():
            what = "write 'id<TAB>query'." if not tab or not name.strip() else f"the query {fault}"
            raise InputError(f"{path}, line {number}: {what}", option="queries")
        rows.append((name.strip(), query.strip()))
    return _unique(rows, path)


def _unique(rows: Sequence[tuple[str, str]], path: Path) -> dict[str, str]:
    queries: dict[str, str] = {}
    for name, query in rows:
        if name in queries:
            raise InputError(f"{path} has the query id {name!r} more than once: keep one of them.", option="queries")
        queries[name] = query
    if not queries:
        raise InputError(f"{path} contains no query: give at least one.", option="queries")
    return queries


def read_relevance(source: str | Path) -> Relevance:
    """Read grades by query and document: TREC qrels, or BEIR's tables with a header and three columns."""
    path = Path(source)
    if path.is_dir():  # a BEIR folder, or its folder qrels
        folder = path / BEIR_QRELS if (path / BEIR_QRELS).is_dir() else path
        files = sorted(folder.glob("*.tsv"))
        chosen = [file for file in files if file.stem == "test"] or files
        if len(chosen) != 1:
            listed = ", ".join(file.name for file in files) or "no .tsv file"
            raise InputError(f"{folder} has {listed}: give the file of relevance judgments.", option="qrels")
        path = chosen[0]
    try:
        with path.open("rb") as file:
            first = file.readline(1000).decode("utf-8-sig", "replace").split()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give a file of qrels.", option="qrels") from None
    if len(first) != 3:
        return read_qrels(path)
    header = ["query", "document", "grade"] if first[2].lstrip("-").isdecimal() else None
    names = header or first
    columns = TableColumns([Column(f"column {i}", name) for i, name in enumerate(names, 1)])
    table = open_table(path, columns, header)
    grades: Relevance = {}
    for number, row in table.rows:
        try:
            if isinstance(row, str):
                raise ValueError(row)
            query, document, grade = (str(each) for each in row)
            grades.setdefault(query, {})[document] = int(grade)
        except ValueError:
            raise InputError(
                f"{table.name}, {table.unit} {number}: write query, document and a whole number as grade, separated "
                "by tabs.",
                option="qrels",
            ) from None
    return grades
