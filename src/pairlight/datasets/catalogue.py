"""The named sets: real data a user can train on at once, each with its terms and where it comes from."""

import difflib
import importlib.util
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from pairlight.data.negatives import Progress
from pairlight.data.pairs import Pairs
from pairlight.data.readers import read_pairs
from pairlight.core.errors import InputError
from pairlight.datasets.completion import clauses, completion
from pairlight.datasets.qa import qa

PARTS = ("train", "dev", "test")

_SHOWN = 2000  # right pairs are enough to draw a sample's wrong texts from


@dataclass(frozen=True)
class NamedSet:
    name: str
    about: str
    size: str
    terms: str
    origin: str  # where to get it
    kind: str  # "ranking": one list a left text; "pairs": every pair stands alone


SETS: dict[str, NamedSet] = {
    "wikiqa": NamedSet(
        "wikiqa",
        "Questions asked of a search engine, with the sentences of a Wikipedia page that may answer them.",
        "20,360 / 2,733 / 6,165 pairs",
        "Microsoft Research Data License",
        "https://www.microsoft.com/en-us/download/details.aspx?id=52419",
        "ranking",
    ),
    "quora": NamedSet(
        "quora",
        "Pairs of questions, labelled whether they ask the same.",
        "7,861 / 10,000 / 10,000 pairs",
        "Quora's terms, non-commercial use",
        "https://quoradata.quora.com/First-Quora-Dataset-Release-Question-Pairs",
        "pairs",
    ),
    "sotu": NamedSet(
        "sotu",
        "Sentence completion: the first clause of a State of the Union sentence and five second clauses.",
        "about 21,000 lists of 5 pairs",
        "MIT",
        "pip install 'pairlight[corpora]'",
        "ranking",
    ),
    "chitchat": NamedSet(
        "chitchat",
        "Turns of conversations, each with its reply and four other replies that BM25 finds like it.",
        "about 84,000 lists of 5 pairs",
        "MIT",
        "pip install 'pairlight[corpora]'",
        "ranking",
    ),
}


def load(
    name: str,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Pairs]:
    """The train, dev and test part of a named set: the same whatever seed a model is trained with."""
    return _load(name, folder, None, progress)


def sample(name: str, n: int = 3, folder: str | Path | None = None, seed: int = 0) -> Pairs:
    """A look into a named set: `n` whole ranking lists drawn by seed out of its training part."""
    train = _load(name, folder, _SHOWN, None)["train"]
    lists = np.random.default_rng(seed).permutation(train.lists)[:n]
    return train.take(np.flatnonzero(np.isin(train.group, lists)))


def positive_pairs(name: str, folder: str | Path | None = None) -> Pairs:
    """The right pairs of a named set, whole: what a protocol starts from."""
    if name == "chitchat":
        return _turns()
    if name == "sotu":
        first, second = zip(*clauses(raw_texts(name)), strict=True)
        return Pairs.of(first, second)
    parts = load(name, folder).values()
    rows = [part.take(np.flatnonzero(part.label > 0)) for part in parts if part.label is not None]
    return Pairs.of(
        [each.texts[i] for each in rows for i in each.left],
        [each.texts[i] for each in rows for i in each.right],
        None,
        [name for each in rows for name in each.left_id or []] or None,
        [name for each in rows for name in each.right_id or []] or None,
    )


def raw_texts(name: str, folder: str | Path | None = None) -> list[str]:
    """The texts of a named set as they were written: whole speeches, not clauses."""
    if name == "sotu":
        speeches = sorted((_package("sotu") / "data" / "speeches").glob("*.txt"))
        return [file.read_text("utf-8") for file in speeches]
    return positive_pairs(name, folder).texts


def _load(name: str, folder: str | Path | None, limit: int | None, progress: Progress | None) -> dict[str, Pairs]:
    """`limit` holds for sets made on the spot: so many right pairs, drawn at random."""
    if name not in SETS:
        near = difflib.get_close_matches(name, SETS, 1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"There is no set named {name!r}.{meant} The sets are: {', '.join(SETS)}.")
    if name == "wikiqa":
        return {part: _wikiqa(_file(name, folder, f"WikiQA-{part}.tsv")) for part in PARTS}
    if name == "quora":
        return {part: _quora(_file(name, folder, f"{part}.tsv")) for part in PARTS}
    if folder is not None:
        raise InputError(f"The set {name} comes out of an installed package: leave the folder {folder} out.")
    if name == "sotu":
        return completion(raw_texts(name), seed=0, limit=limit, progress=progress)
    return qa(_turns(), seed=0, limit=limit, progress=progress)


def _file(name: str, folder: str | Path | None, file: str) -> Path:
    shared = os.environ.get("PAIRLIGHT_DATA")
    if folder is None and shared is None:
        raise InputError(
            f"The set {name} is read from a folder: get it at {SETS[name].origin} and pass --folder, "
            f"or set PAIRLIGHT_DATA to the folder that holds {name}/."
        )
    path = Path(folder) if folder is not None else Path(str(shared)) / name
    if not (path / file).is_file():
        raise InputError(
            f"The set {name} needs {file}, which is not in {path}: get it at {SETS[name].origin} and pass --folder."
        )
    return path / file


def _package(name: str) -> Path:
    """The folder of an installed package, found without importing it: the import of one would take a second."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise InputError(f"The package {name} is not installed: pip install 'pairlight[corpora]'.")
    return Path(spec.origin).parent


def _wikiqa(path: Path) -> Pairs:
    return read_pairs(
        path, left="Question", right="Sentence", label="Label", left_id="QuestionID", right_id="SentenceID"
    )[0]


def _quora(path: Path) -> Pairs:
    header = None if path.name == "train.tsv" else ["is_duplicate", "question1", "question2", "id"]
    return read_pairs(path, left="question1", right="question2", label="is_duplicate", header=header)[0]


def _turns() -> Pairs:
    """The turns of conversations and the replies to them: a turn for the question, its reply for the answer."""
    found = _replies(json.loads((_package("chitchat_dataset") / "dataset.json").read_bytes()))
    turns, replies, ids = zip(*found, strict=True)
    return Pairs.of(turns, replies, None, ids)


def _replies(conversations: dict[str, dict[str, list[list[dict[str, str]]]]]) -> Iterator[tuple[str, str, str]]:
    """Every turn with its reply and an id; a turn is all that one sender says before the other does."""
    for number, conversation in enumerate(conversations.values()):
        turns: list[str] = []
        sender = None
        for message in (message for messages in conversation["messages"] for message in messages):
            text = " ".join(message["text"].split())
            if message["sender"] == sender:
                turns[-1] = f"{turns[-1]} {text}".strip()
            else:
                turns.append(text)
            sender = message["sender"]
        for at, (turn, reply) in enumerate(pairwise(turns)):
            if turn and reply:
                yield turn, reply, f"{number}-{at}"
