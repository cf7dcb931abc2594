"""Run and qrels files in the format of TREC, which every retrieval tool reads."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from numpy.typing import ArrayLike

from pairlight.core.errors import InputError
from pairlight.evaluation.columns import column, grades
from pairlight.core.files import write_text

T = TypeVar("T")

RUN = "query Q0 document rank score tag"
QRELS = "query 0 document grade"


def write_run(
    path: str | Path, query_ids: Sequence[str], doc_ids: Sequence[str], scores: ArrayLike, tag: str = "pairlight"
) -> None:
    """Each query's documents, highest score first; scores are kept whole, so ties are still ties to a reader."""
    s = column("scores", scores).tolist()
    _check_ids(query_ids, doc_ids, len(s))
    _check_word("tag", tag)
    place: dict[str, int] = {}
    query = [place.setdefault(name, len(place)) for name in query_ids]
    ranks = [0] * len(place)
    lines = []
    for row in sorted(range(len(s)), key=lambda row: (query[row], -s[row])):
        ranks[query[row]] += 1
        lines.append(f"{query_ids[row]} Q0 {doc_ids[row]} {ranks[query[row]]} {s[row]!r} {tag}\n")
    write_text(Path(path), "".join(lines))


def write_qrels(path: str | Path, query_ids: Sequence[str], doc_ids: Sequence[str], labels: ArrayLike) -> None:
    whole = grades(column("labels", labels))
    _check_ids(query_ids, doc_ids, len(whole))
    rows = zip(query_ids, doc_ids, whole, strict=True)
    write_text(Path(path), "".join(f"{query} 0 {document} {grade}\n" for query, document, grade in rows))


def read_run(path: str | Path) -> dict[str, dict[str, float]]:
    """Scores by query and document. The ranks in the file are not read: scores alone say the order."""
    run: dict[str, dict[str, float]] = {}
    for where, (query, _, document, _, score, _) in _rows(Path(path), RUN):
        _put(run, query, document, _finite(where, score), where)
    return run


def read_qrels(path: str | Path) -> dict[str, dict[str, int]]:
    """Grades by query and document."""
    qrels: dict[str, dict[str, int]] = {}
    for where, (query, _, document, grade) in _rows(Path(path), QRELS):
        try:
            whole = int(grade)
        except ValueError:
            raise InputError(f"{where}: the grade is {grade!r}: give a whole number such as 0 or 1.") from None
        _put(qrels, query, document, whole, where)
    return qrels


def _rows(path: Path, form: str) -> Iterator[tuple[str, list[str]]]:
    """The columns of each line, with the place to name in an error."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give a file of lines '{form}'.") from None
    empty = True
    for number, line in enumerate(content.split(b"\n"), start=1):
        where = f"{path}, line {number}"
        try:
            cells = line.decode("utf-8-sig" if number == 1 else "utf-8").split()
        except UnicodeDecodeError:
            raise InputError(f"{where}: {line[:60]!r} is not UTF-8: save the file as UTF-8.") from None
        if not cells:
            continue
        if len(cells) != len(form.split()):
            raise InputError(
                f"{where}: {' '.join(cells)[:60]!r} has {len(cells)} columns: "
                f"write {len(form.split())}, '{form}', parted by white space."
            )
        empty = False
        yield where, cells
    if empty:
        raise InputError(f"{path} is empty: give a file of lines '{form}'.")


def _finite(where: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{where}: the score is {text!r}: give a finite number.")
    return number


def _put(table: dict[str, dict[str, T]], query: str, document: str, value: T, where: str) -> None:
    row = table.setdefault(query, {})
    if document in row:
        raise InputError(f"{where}: document {document!r} is listed again for query {query!r}: keep one line of it.")
    row[document] = value


def _check_ids(query_ids: Sequence[str], doc_ids: Sequence[str], rows: int) -> None:
    for name, ids in (("query_ids", query_ids), ("doc_ids", doc_ids)):
        if len(ids) != rows:
            raise InputError(f"{name} has {len(ids)} values and there are {rows} pairs: give one for each pair.")
        for i, value in enumerate(ids):
            _check_word(f"{name}[{i}]", value)
    seen: set[tuple[str, str]] = set()
    for pair in zip(query_ids, doc_ids, strict=True):
        if pair in seen:
            raise InputError(f"Document {pair[1]!r} is given twice for query {pair[0]!r}: keep one of the two.")
        seen.add(pair)


def _check_word(name: str, value: str) -> None:
    if value.split() != [value]:
        raise InputError(f"{name} is {value!r}, and TREC files part columns at white space: use '_' in its place.")
