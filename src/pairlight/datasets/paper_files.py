"""Readers of the files that the papers used, for those who have them: Yahoo! Answers, Reuters RCV1 and all of Quora."""

import csv
import gzip
import html
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.data.splits import SPLITS, Splits

_CHUNK = 1 << 20  # bytes that are parsed at a time
_MARKUP = re.compile(r"<[^<>]{1,200}>")
_SPLIT = (0.8, 0.1, 0.1)
# The aMV-LSTM paper says no more than the shares, so pairs are independent: two with the same question may be apart.
QUORA_PROTOCOL = "All pairs, split at random 8:1:1 into train, dev and test as in the aMV-LSTM paper."


def yahoo_answers(files: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yield every question with its best answer from the XML of Yahoo! Answers (Webscope L4, L5 or L6).

    The question is its subject. Questions without a best answer are left out. `files` may be gzipped, and are read as
    one document in the given order: L6 comes in parts that are cut anywhere.
    """
    for question in _elements(files, "document"):
        subject, answer = (_plain(question.findtext(name) or "") for name in ("subject", "bestanswer"))
        if subject and answer:
            yield subject, answer


def rcv1_texts(folder: Path) -> Iterator[str]:
    """Yield the text of every news item of Reuters RCV1, its paragraphs divided by empty lines.

    The items are .xml files in the folder or in .zip files there, one for each day, in the order of their names.
    """
    found = False
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                for name in sorted(each for each in archive.namelist() if each.endswith(".xml")):
                    found = True
                    yield _news_text(archive.read(name), f"{path}/{name}")
        elif path.suffix == ".xml":
            found = True
            yield _news_text(path.read_bytes(), str(path))
    if not found:
        raise InputError(f"There is no news item in {folder}: put the .zip or .xml files of RCV1 there.", option="data")


def quora_pairs(path: Path) -> Pairs:
    """All pairs of quora_duplicate_questions.tsv, each in a list of its own; rows that are not whole are left out.

    Unlike other .tsv files, this one has quotes around questions, and line ends inside them.
    """
    found: list[tuple[str, str, float]] = []
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        missing = {"question1", "question2", "is_duplicate"} - set(rows.fieldnames or ())
        if missing:
            raise InputError(f"{path} has no column {sorted(missing)[0]!r}: give Quora's own file.", option="data")
        for row in rows:
            first, second = (" ".join((row[name] or "").split()) for name in ("question1", "question2"))
            if first and second and row["is_duplicate"] in ("0", "1"):
                found.append((first, second, float(row["is_duplicate"])))
    if not found:
        raise InputError(f"{path} has no pairs: give Quora's own file.", option="data")
    lefts, rights, labels = zip(*found, strict=True)
    return Pairs.of(lefts, rights, labels, [str(number) for number in range(len(found))])


def split_pairs(pairs: Pairs, seed: int) -> Splits:
    """Split pairs at random 8:1:1, whatever texts they share."""
    order = np.random.default_rng(seed).permutation(len(pairs))
    ends = np.round(np.cumsum(_SPLIT) * len(pairs)).astype(int)
    parts = np.split(order, ends[:-1])
    return {name: pairs.take(np.sort(part)) for name, part in zip(SPLITS, parts, strict=True)}


def _elements(files: Iterable[Path], tag: str) -> Iterator[ElementTree.Element]:
    """Yield the elements of this name; they are emptied afterwards, so that a large document needs little memory."""
    parser: Any = ElementTree.XMLPullParser(["start", "end"])
    root = None
    for path in files:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                try:
                    parser.feed(chunk)
                    events = list(parser.read_events())
                except ElementTree.ParseError as error:
                    raise InputError(f"{path} is not XML ({error}): give the files in their order.") from None
                for event, element in events:
                    root = element if root is None else root
                    if event == "end" and element.tag == tag:
                        yield element
                        root.clear()


def _plain(text: str) -> str:
    """The text without HTML, in one line."""
    return " ".join(_MARKUP.sub(" ", html.unescape(text)).split())


def _news_text(content: bytes, name: str) -> str:
    try:
        item = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise InputError(f"{name} is not a news item of RCV1 ({error}).") from None
    paragraphs = item.iterfind("text/p")
    return "\n\n".join(" ".join("".join(each.itertext()).split()) for each in paragraphs)
