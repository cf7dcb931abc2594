"""A dataset on disk: train.tsv, dev.tsv, test.tsv, and a card that describes them."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write, write_text
from pairlight.core.markdown import escape_markdown, markdown_table
from pairlight.core.records import read_record, write_record
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits

CARD_FILE, README_FILE = "card.json", "README.md"
FORMAT = 1  # of the card


@dataclass(frozen=True)
class DataSource:
    """A file, folder or named dataset that a dataset was made from."""

    name: str
    sha256: str | None = None  # None for a named dataset, or for a pipe


@dataclass(frozen=True)
class SplitInfo:
    """One file of a dataset."""

    file: str
    pairs: int
    lists: int
    positives: int
    texts: int
    sha256: str


@dataclass(frozen=True)
class DatasetCard:
    """What a dataset folder contains, and how it was made."""

    name: str
    protocol: str
    options: dict[str, Any]
    sources: tuple[DataSource, ...]
    splits: dict[str, SplitInfo]

    def as_dict(self) -> dict[str, Any]:
        """Return the card in a form ready for JSON."""
        return asdict(self) | {"sources": [asdict(source) for source in self.sources]}


def write_dataset(
    out: Path,
    splits: Splits,
    *,
    name: str,
    protocol: str,
    options: Mapping[str, Any] | None = None,
    sources: Sequence[DataSource] = (),
) -> DatasetCard:
    """Write the splits, then the card: a folder with a card is complete."""
    (out / CARD_FILE).unlink(missing_ok=True)
    ids = _IdWriter()
    infos = {split: _write_split(out / f"{split}.tsv", pairs, ids) for split, pairs in splits.items()}
    card = DatasetCard(name, protocol, dict(options or {}), tuple(sources), infos)
    write_text(out / README_FILE, _readme(card))
    write_record(out / CARD_FILE, card.as_dict(), FORMAT)
    return card


def is_dataset(folder: Path) -> bool:
    """Whether the folder contains a complete dataset."""
    return (folder / CARD_FILE).is_file()


def read_card(folder: Path) -> DatasetCard | None:
    """Read the card of a dataset folder; None if there is none."""
    path = folder / CARD_FILE
    return read_record(path, DatasetCard, FORMAT, "make the dataset again") if path.exists() else None


def _write_split(path: Path, pairs: Pairs, ids: "_IdWriter") -> SplitInfo:
    digest = hashlib.sha256()
    with atomic_write(path) as file:
        for line in _lines(pairs, ids):
            content = line.encode("utf-8")
            digest.update(content)
            file.write(content)
    positives = int(np.sum(pairs.labels > 0))
    return SplitInfo(path.name, len(pairs), pairs.lists, positives, len(pairs.texts), digest.hexdigest())


class _IdWriter:
    """Assigns ids to lists and texts that have none, unique across all splits, and cleans ids that are given."""

    def __init__(self) -> None:
        self.lists = 0
        self.texts: dict[str, str] = {}
        self.original: dict[str, str] = {}  # the id before it was cleaned

    def text_id(self, text: str) -> str:
        return self.texts.setdefault(text, f"t{len(self.texts)}")

    def clean(self, name: str) -> str:
        cleaned = _one_line(name)
        if not cleaned or self.original.setdefault(cleaned, name) != name:
            raise InputError(
                f"The id {name!r} is empty or the same as another id when tabs and line ends are replaced by spaces: "
                "rename it."
            )
        return cleaned


def _lines(pairs: Pairs, ids: _IdWriter) -> Iterator[str]:
    yield "left\tright\tlabel\tleft_id\tright_id\n"
    first, ids.lists = ids.lists, ids.lists + pairs.lists
    texts = [_one_line(text) for text in pairs.texts]
    for row, (i, j, label) in enumerate(zip(pairs.left.tolist(), pairs.right.tolist(), pairs.labels, strict=True)):
        left_id = f"q{first + pairs.group[row]}" if pairs.left_id is None else ids.clean(pairs.left_id[row])
        right_id = ids.text_id(texts[j]) if pairs.right_id is None else ids.clean(pairs.right_id[row])
        number = np.format_float_positional(label, trim="-")  # the shortest digits that give the same float32
        yield f"{texts[i]}\t{texts[j]}\t{number}\t{left_id}\t{right_id}\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _readme(card: DatasetCard) -> str:
    splits = [
        (split, f"{info.pairs:,}", f"{info.lists:,}", f"{info.positives:,}", f"{info.texts:,}", f"`{info.sha256}`")
        for split, info in card.splits.items()
    ]
    blocks = [
        f"# {escape_markdown(card.name)}",
        card.protocol,
        markdown_table(("split", "pairs", "lists", "positives", "texts", "sha256"), splits, "lrrrrl"),
    ]
    if card.options:
        blocks.append(
            markdown_table(
                ("option", "value"), [(name, escape_markdown(value)) for name, value in card.options.items()]
            )
        )
    if card.sources:
        sources = [
            (escape_markdown(source.name), source.sha256 or "none: a named dataset or a pipe")
            for source in card.sources
        ]
        blocks.append(markdown_table(("source", "sha256"), sources))
    blocks.append("```\npairlight train train.tsv --dev dev.tsv --test test.tsv --out MODEL\n```")
    return "\n\n".join(blocks) + "\n"
