"""A task on disk: train, dev and test as files that `train` takes as they are, and a card that says what they are."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write, write_text

CARD, README = "card.json", "README.md"


def claim(out: Path, overwrite: bool) -> None:
    """Refuse a folder that holds something, save an older task to be overwritten."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file: give a folder.")
    if out.is_dir() and any(out.iterdir()):
        if not overwrite:
            raise InputError(f"--out {out} is not empty: give another folder, or --overwrite.")
        if not (out / CARD).is_file():
            raise InputError(f"--out {out} holds something that is no built task, so --overwrite leaves it alone.")


def write_task(out: Path, parts: dict[str, Pairs], about: dict[str, Any]) -> dict[str, Any]:
    """Write the parts, then the card: a folder with a card is whole. Gives the card."""
    (out / CARD).unlink(missing_ok=True)
    names = _Names()
    files = {}
    for part, pairs in parts.items():
        digest = hashlib.sha256()
        with atomic_write(out / f"{part}.tsv") as file:
            for line in _lines(pairs, names):
                content = line.encode("utf-8")
                digest.update(content)
                file.write(content)
        files[part] = {
            "file": f"{part}.tsv",
            "pairs": len(pairs),
            "lists": pairs.lists,
            "matches": int(np.sum(pairs.label > 0)) if pairs.label is not None else 0,
            "texts": len(pairs.texts),
            "sha256": digest.hexdigest(),
        }
    card = about | {"parts": files}
    write_text(out / README, _readme(card))
    write_text(out / CARD, json.dumps(card, indent=2, ensure_ascii=False) + "\n")
    return card


def files_in(folder: Path) -> list[Path]:
    """The files of a folder and of those in it, by name, without hidden ones."""
    found = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    return [file for file in found if not any(part.startswith(".") for part in file.relative_to(folder).parts)]


def checksum(path: Path) -> str | None:
    """The SHA-256 of a file, or of a folder's files and their names; none of what can be read only once."""
    if not path.is_file() and not path.is_dir():
        return None
    digest = hashlib.sha256()
    for file in files_in(path) if path.is_dir() else [path]:
        if path.is_dir():
            digest.update(f"{file.relative_to(path).as_posix()}\0".encode())
        with file.open("rb") as content:
            while block := content.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


class _Names:
    """Ids for lists and texts that came without: numbered through all parts, a text that comes again has its own."""

    def __init__(self) -> None:
        self.lists = 0
        self.texts: dict[str, str] = {}
        self.given: dict[str, str] = {}

    def text(self, text: str) -> str:
        return self.texts.setdefault(text, f"t{len(self.texts)}")

    def clean(self, name: str) -> str:
        cleaned = _clean(name)
        if not cleaned or self.given.setdefault(cleaned, name) != name:
            raise InputError(f"The id {name!r} is another's, or none, without its tabs and line ends: rename it.")
        return cleaned


def _lines(pairs: Pairs, names: _Names) -> Iterator[str]:
    yield "left\tright\tlabel\tleft_id\tright_id\n"
    first, names.lists = names.lists, names.lists + pairs.lists
    texts = [_clean(text) for text in pairs.texts]
    for row, (i, j, label) in enumerate(zip(pairs.left.tolist(), pairs.right.tolist(), pairs.labels, strict=True)):
        left_id = f"q{first + pairs.group[row]}" if pairs.left_id is None else names.clean(pairs.left_id[row])
        right_id = names.text(texts[j]) if pairs.right_id is None else names.clean(pairs.right_id[row])
        # The shortest digits that are this number and no other of its kind.
        number = np.format_float_positional(label, trim="-")
        yield f"{texts[i]}\t{texts[j]}\t{number}\t{left_id}\t{right_id}\n"


def _clean(text: str) -> str:
    return " ".join(text.split())


def _readme(card: dict[str, Any]) -> str:
    lines = [f"# {card['task']}", "", card["protocol"], "", "| part | pairs | lists | matches | texts | sha256 |"]
    lines += ["|---|---:|---:|---:|---:|---|"]
    lines += [
        f"| {part} | {f['pairs']:,} | {f['lists']:,} | {f['matches']:,} | {f['texts']:,} | `{f['sha256']}` |"
        for part, f in card["parts"].items()
    ]
    lines += ["", "| choice | value |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in card["choices"].items()]
    if card["sources"]:
        lines += ["", "| source | sha256 |", "|---|---|"]
        lines += [f"| {each['name']} | {each['sha256'] or 'a named set, or no file'} |" for each in card["sources"]]
    lines += ["", "```", "pairlight train train.tsv --dev dev.tsv --test test.tsv --out MODEL", "```"]
    return "\n".join(lines) + "\n"
