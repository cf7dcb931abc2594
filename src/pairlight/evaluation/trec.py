"""Run, qrels and topics files in the formats of TREC, which most retrieval tools read."""

import html
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from numpy.typing import ArrayLike

from pairlight.core.errors import InputError
from pairlight.core.files import write_text
from pairlight.evaluation.validation import check_column, integer_grades

T = TypeVar("T")

RUN_FORMAT = "query Q0 document rank score tag"
QRELS_FORMAT = "query 0 document grade"

_TOPIC = re.compile(r"<top(?:ic)?\b", re.IGNORECASE)
_TOPIC_ID = re.compile(r"<num>\s*(?:number:)?\s*([^\s<]+)", re.IGNORECASE)
_TOPIC_ATTRIBUTE = re.compile(r"\bnumber\s*=\s*[\"']([^\"']+)", re.IGNORECASE)
_TOPIC_QUERY = re.compile(r"<(?:title|query)>\s*(?:topic:)?([^<]*)", re.IGNORECASE)


def write_run(
    path: str | Path, query_ids: Sequence[str], doc_ids: Sequence[str], scores: ArrayLike, tag: str = "pairlight"
) -> None:
    """Write the documents of each query, highest score first; scores keep all digits, so that ties remain ties."""
    s = check_column("scores", scores).tolist()
    _check_ids(query_ids, doc_ids, len(s))
    _check_field("tag", tag)
    index: dict[str, int] = {}
    query = [index.setdefault(name, len(index)) for name in query_ids]
    ranks = [0] * len(index)
    lines = []
    for row in sorted(range(len(s)), key=lambda row: (query[row], -s[row])):
        ranks[query[row]] += 1
        lines.append(f"{query_ids[row]} Q0 {doc_ids[row]} {ranks[query[row]]} {s[row]!r} {tag}\n")
    write_text(Path(path), "".join(lines))


def write_qrels(path: str | Path, query_ids: Sequence[str], doc_ids: Sequence[str], labels: ArrayLike) -> None:
    """Write the labels, which must be whole numbers, as grades."""
    grades = integer_grades(check_column("labels", labels))
    _check_ids(query_ids, doc_ids, len(grades))
    rows = zip(query_ids, doc_ids, grades, strict=True)
    write_text(Path(path), "".join(f"{query} 0 {document} {grade}\n" for query, document, grade in rows))


def read_run(path: str | Path) -> dict[str, dict[str, float]]:
    """Read scores by query and document; the ranks in the file are ignored."""
    run: dict[str, dict[str, float]] = {}
    for where, (query, _, document, _, score, _) in _rows(Path(path), RUN_FORMAT):
        _add(run, query, document, _finite(where, score), where)
    return run


def read_qrels(path: str | Path) -> dict[str, dict[str, int]]:
    """Read grades by query and document."""
    qrels: dict[str, dict[str, int]] = {}
    for where, (query, _, document, grade) in _rows(Path(path), QRELS_FORMAT):
        try:
            whole = int(grade)
        except ValueError:
            raise InputError(f"{where}: the grade is {grade!r}: write a whole number such as 0 or 1.") from None
        _add(qrels, query, document, whole, where)
    return qrels


def read_topics(path: str | Path) -> list[tuple[str, str]]:
    """Read the id and the title of each topic: <top> with <num> and <title>, or <topic number="..."> with <query>."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not valid UTF-8 at byte {error.start}: save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give a file of topics.") from None
    topics = []
    for count, part in enumerate(_TOPIC.split(text)[1:], 1):
        attributes, _, content = part.partition(">")
        name = _TOPIC_ATTRIBUTE.search(attributes) or _TOPIC_ID.search(content)
        query = _TOPIC_QUERY.search(content)
        words = html.unescape(query[1]).split() if query else []
        if "</top" not in content.lower():
            raise InputError(f"{path}, topic {count}: its end is missing: end each topic with </top>.")
        if name is None or not words:
            missing = "number" if name is None else "title"
            raise InputError(f"{path}, topic {count}: the {missing} is missing: give each topic a <num> and a <title>.")
        topics.append((name[1].strip(), " ".join(words)))
    if not topics:
        raise InputError(f"{path} has no topic: write each as <top> with a <num> and a <title>.")
    return topics


def _rows(path: Path, form: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the columns of each line, with the file and line to name in an error."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give a file of lines '{form}'.") from None
    empty = True
    for number, line in enumerate(content.split(b"\n"), start=1):
        where = f"{path}, line {number}"
        try:
            fields = line.decode("utf-8-sig" if number == 1 else "utf-8").split()
        except UnicodeDecodeError:
            raise InputError(f"{where}: {line[:60]!r} is not valid UTF-8: save the file as UTF-8.") from None
        if b"\0" in line:
            raise InputError(f"{where}: {line[:60]!r} contains a NUL character: save the file as text again.")
        if not fields:
            continue
        if len(fields) != len(form.split()):
            raise InputError(
                f"{where}: {' '.join(fields)[:60]!r} has {len(fields)} columns: write {len(form.split())} columns "
                f"separated by whitespace, '{form}'."
            )
        empty = False
        yield where, fields
    if empty:
        raise InputError(f"{path} is empty: give a file of lines '{form}'.")


def _finite(where: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{where}: the score is {text!r}: write a finite number.")
    return number


def _add(table: dict[str, dict[str, T]], query: str, document: str, value: T, where: str) -> None:
    row = table.setdefault(query, {})
    if document in row:
        raise InputError(
            f"{where}: document {document!r} occurs more than once for query {query!r}: keep one of the lines."
        )
    row[document] = value


def _check_ids(query_ids: Sequence[str], doc_ids: Sequence[str], rows: int) -> None:
    for name, ids in (("query_ids", query_ids), ("doc_ids", doc_ids)):
        if len(ids) != rows:
            raise InputError(f"{name} has {len(ids)} values, but there are {rows} pairs: give one for each pair.")
        for i, value in enumerate(ids):
            _check_field(f"{name}[{i}]", value)
    seen: set[tuple[str, str]] = set()
    for pair in zip(query_ids, doc_ids, strict=True):
        if pair in seen:
            raise InputError(f"Document {pair[1]!r} occurs more than once for query {pair[0]!r}: keep one of them.")
        seen.add(pair)


def _check_field(name: str, value: str) -> None:
    if value.split() != [value] or "\0" in value:
        raise InputError(
            f"{name} is {value!r}, but fields of TREC files must not be empty or contain whitespace or NUL characters: "
            "use '_' instead."
        )
