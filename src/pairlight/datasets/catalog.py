"""The named datasets: what they are, their licenses and sources, and how they are loaded."""

import importlib.util
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from pairlight.core.errors import InputError, unknown_name
from pairlight.core.progress import Progress
from pairlight.data.pairs import Pairs, concat_pairs
from pairlight.data.readers import read_pairs
from pairlight.data.splits import SPLITS, Splits
from pairlight.datasets.completion import clauses, completion
from pairlight.datasets.qa import qa

_SAMPLE_LIMIT = 2000  # positive pairs that a sample of a generated dataset is made from


@dataclass(frozen=True)
class DatasetInfo:
    """A named dataset."""

    name: str
    description: str
    size: str
    license: str
    source: str  # where to get it
    task: Literal["ranking", "pairs"]  # a ranking list for each left text, or independent pairs


DATASETS: dict[str, DatasetInfo] = {
    "wikiqa": DatasetInfo(
        "wikiqa",
        "Questions to a search engine, with the sentences of a Wikipedia page that may answer them.",
        "20,360 / 2,733 / 6,165 pairs",
        "Microsoft Research Data License",
        "https://www.microsoft.com/en-us/download/details.aspx?id=52419",
        "ranking",
    ),
    "quora": DatasetInfo(
        "quora",
        "Pairs of questions, labeled by whether they are duplicates.",
        "7,861 / 10,000 / 10,000 pairs",
        "Quora's terms, non-commercial use",
        "https://quoradata.quora.com/First-Quora-Dataset-Release-Question-Pairs",
        "pairs",
    ),
    "sotu": DatasetInfo(
        "sotu",
        "Sentence completion: the first clause of a State of the Union sentence and five second clauses.",
        "about 21,000 lists of 5 pairs",
        "MIT",
        "pip install 'pairlight[corpora]'",
        "ranking",
    ),
    "chitchat": DatasetInfo(
        "chitchat",
        "Turns of conversations, each with its reply and four similar replies found by BM25.",
        "about 84,000 lists of 5 pairs",
        "MIT",
        "pip install 'pairlight[corpora]'",
        "ranking",
    ),
}


def load_dataset(name: str, folder: str | Path | None = None, progress: Progress | None = None) -> Splits:
    """Load the train, dev and test splits of a named dataset, which do not depend on any seed."""
    return _load(name, folder, None, progress)


def sample_dataset(name: str, n: int = 3, folder: str | Path | None = None, seed: int = 0) -> Pairs:
    """Draw `n` whole ranking lists from the training split of a named dataset."""
    train = _load(name, folder, _SAMPLE_LIMIT, None)["train"]
    lists = np.random.default_rng(seed).permutation(train.lists)[:n]
    return train.take(np.flatnonzero(np.isin(train.group, lists)))


def positive_pairs(name: str, folder: str | Path | None = None) -> Pairs:
    """Return all positive pairs of a named dataset, without labels: the input of a protocol."""
    if name == "chitchat":
        return _turns()
    if name == "sotu":
        first, second = zip(*clauses(raw_texts(name)), strict=True)
        return Pairs.of(first, second)
    splits = load_dataset(name, folder).values()
    return replace(concat_pairs([pairs.take(np.flatnonzero(pairs.labels > 0)) for pairs in splits]), label=None)


def raw_texts(name: str, folder: str | Path | None = None) -> list[str]:
    """Return the texts of a named dataset before any processing: for sotu whole speeches, not clauses."""
    if name == "sotu":
        speeches = sorted((_package("sotu") / "data" / "speeches").glob("*.txt"))
        return [file.read_text("utf-8") for file in speeches]
    return positive_pairs(name, folder).texts


def _load(name: str, folder: str | Path | None, limit: int | None, progress: Progress | None) -> Splits:
    """Load a dataset; for datasets that are generated, `limit` is the number of positive pairs to draw."""
    if name not in DATASETS:
        raise unknown_name("dataset", name, DATASETS)
    if name == "wikiqa":
        return {split: _wikiqa(_file(name, folder, f"WikiQA-{split}.tsv")) for split in SPLITS}
    if name == "quora":
        return {split: _quora(_file(name, folder, f"{split}.tsv")) for split in SPLITS}
    if folder is not None:
        raise InputError(
            f"The dataset {name} is read from an installed package, not from {folder}: give no folder.",
            option="folder",
        )
    if name == "sotu":
        return completion(raw_texts(name), seed=0, limit=limit, progress=progress)
    return qa(_turns(), seed=0, limit=limit, progress=progress)


def _file(name: str, folder: str | Path | None, file: str) -> Path:
    shared = os.environ.get("PAIRLIGHT_DATA")
    if folder is None and shared is None:
        raise InputError(
            f"The dataset {name} is read from a folder: download it from {DATASETS[name].source} and give its folder, "
            f"or set PAIRLIGHT_DATA to the folder that contains {name}/.",
            option="folder",
        )
    path = Path(folder) if folder is not None else Path(str(shared)) / name
    if not (path / file).is_file():
        raise InputError(
            f"The dataset {name} needs the file {file}, which is not in {path}: download it from "
            f"{DATASETS[name].source} and give its folder.",
            option="folder",
        )
    return path / file


def _package(name: str) -> Path:
    """Return the folder of an installed package without importing it; one import would take a second."""
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
    """Return the turns of the chitchat conversations as left texts, with the replies to them as right texts."""
    found = _replies(json.loads((_package("chitchat_dataset") / "dataset.json").read_bytes()))
    turns, replies, ids = zip(*found, strict=True)
    return Pairs.of(turns, replies, None, ids)


def _replies(conversations: dict[str, dict[str, list[list[dict[str, str]]]]]) -> Iterator[tuple[str, str, str]]:
    """Yield every turn with its reply and an id; a turn is all consecutive messages of one sender."""
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
