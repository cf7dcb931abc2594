"""The ready-made models that ship with the package: their training data, and how they are rebuilt."""

import csv
import io
from pathlib import Path

import numpy as np

from pairlight.core.progress import ProgressReporter
from pairlight.data.pairs import Pairs
from pairlight.data.splits import SPLITS, Splits
from pairlight.evaluation.evaluate import evaluate_scores
from pairlight.experiments.sources import SOURCES, data_file
from pairlight.inference.model_folder import save_model
from pairlight.inference.ready_made import SEEN, text_checksums
from pairlight.training.trainer import train

BLOCK = 200  # consecutive rows that are kept in one split
NEAR, ADJACENT, RANDOM = 8, 6, 2  # negatives: 6 of the answers up to 8 rows away, and 2 random ones
COMMAND = "pairlight reproduce ready-made"
ABOUT_DATA = {
    "qa-small": "Trained on question-answer pairs of SQuAD and SQuADShifts (license CC BY-SA 4.0).",
    "sim-small": "Trained on the STS benchmark (license CC BY-SA 4.0).",
}


def build_ready_made(name: str, out: Path, *, reporter: ProgressReporter | None = None) -> dict[str, float]:
    """Train a ready-made model into a folder, and return its metrics on test, measured once."""
    splits = answer_sentences() if name == "qa-small" else sentence_similarity()
    # The vectors are frozen, so that a model takes less than 1 MB.
    options = {"freeze": True} | ({"epochs": 3, "patience": 0, "batch": 128} if name == "qa-small" else {})
    run = train("late-interaction", splits["train"], splits["dev"], options=options, init=None, reporter=reporter)
    scorer = run.trained.scorer()
    metrics = evaluate_scores(splits["test"], scorer.score_pairs(splits["test"]), threshold=None).metrics
    seen = io.BytesIO()
    np.save(seen, text_checksums(splits["train"].texts))
    save_model(
        out,
        run.trained,
        results={"test": metrics},
        command=COMMAND,
        about_data=ABOUT_DATA[name],
        others={SEEN: seen.getvalue()},
    )
    return metrics


def sentence_similarity() -> Splits:
    """The English STS benchmark."""
    return SOURCES["stsb-en"].make(None, lambda done: None)


def answer_sentences(seed: int = 0) -> Splits:
    """Questions of squad-sentences with their answer and others near it as a ranking list.

    Dev and test are blocks of consecutive rows, and no sentence of theirs is in a training pair.
    """
    with data_file("squad-sentences", "pairs.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rng = np.random.default_rng(seed)
    blocks = -(-len(rows) // BLOCK)
    split_of_block = rng.choice(SPLITS, blocks, p=(0.9, 0.05, 0.05))
    split = [str(split_of_block[i // BLOCK]) for i in range(len(rows))]
    held_out = {row["answer"] for row, name in zip(rows, split, strict=True) if name != "train"}
    numbers: dict[str, list[int]] = {name: [] for name in SPLITS}
    for i, row in enumerate(rows):
        if split[i] != "train" or row["answer"] not in held_out:
            numbers[split[i]].append(i)
    return {name: _lists(rows, chosen, rng) for name, chosen in numbers.items()}


def _lists(rows: list[dict[str, str]], numbers: list[int], rng: np.random.Generator) -> Pairs:
    left, right, label, ids = [], [], [], []
    for at, i in enumerate(numbers):
        question, answer = rows[i]["question"], rows[i]["answer"]
        near = [j for j in numbers[max(at - NEAR, 0) : at + NEAR + 1] if abs(j - i) <= NEAR]
        adjacent = list(dict.fromkeys(rows[j]["answer"] for j in near if rows[j]["source"] == rows[i]["source"]))
        others = [rows[numbers[j]]["answer"] for j in rng.integers(0, len(numbers), RANDOM)]
        chosen = [adjacent[j] for j in rng.permutation(len(adjacent)) if adjacent[j] != answer][:ADJACENT]
        negatives = [text for text in dict.fromkeys(chosen + others) if text != answer]
        left += [question] * (1 + len(negatives))
        right += [answer, *negatives]
        label += [1.0] + [0.0] * len(negatives)
        ids += [str(i)] * (1 + len(negatives))
    return Pairs.of(left, right, label, ids)
