"""The ready-made models that ship with the package: their training data, and how they are rebuilt."""

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pairlight.core.progress import ProgressReporter
from pairlight.data.pairs import Pairs
from pairlight.data.splits import SPLITS, Splits
from pairlight.evaluation.evaluate import evaluate_scores
from pairlight.experiments.sources import SOURCES, data_file
from pairlight.inference.history import History
from pairlight.inference.model_folder import TrainedModel, save_model
from pairlight.inference.ready_made import SEEN, text_checksums
from pairlight.training.examples import training_examples
from pairlight.training.linear_fit import fit_linear
from pairlight.training.trainer import TrainingRun, calibrate, prepare_training, train

BLOCK = 200  # consecutive rows that are kept in one split
NEAR, ADJACENT, RANDOM = 8, 6, 2  # negatives: 6 of the answers up to 8 rows away, and 2 random ones
RUNS = 3  # of qa-small
KEPT = 0.75  # of the way from the start to the mean of the runs
FROZEN = {"freeze": True}  # the vectors, so that a model takes less than 1 MB
COMMAND = "pairlight reproduce ready-made"
ABOUT_DATA = {
    "qa-small": "Trained on question-answer pairs of SQuAD and SQuADShifts (license CC BY-SA 4.0): the mean of the "
    f"weights of {RUNS} runs of one epoch from the same start, of which {KEPT:.0%} of the change is kept.",
    "sim-small": "Trained on the STS benchmark (license CC BY-SA 4.0).",
}


def build_ready_made(name: str, out: Path, *, reporter: ProgressReporter | None = None) -> dict[str, float]:
    """Train a ready-made model into a folder, and return its metrics on test, measured once."""
    if name == "qa-small":
        splits = answer_sentences()
        trained = _mean_of_runs(splits, FROZEN | {"epochs": 1, "batch": 128}, reporter or ProgressReporter())
    else:
        splits = sentence_similarity()
        run = train("late-interaction", splits["train"], splits["dev"], options=FROZEN, init=None, reporter=reporter)
        trained = run.trained
    metrics = {part: _metrics(trained, splits[part]) for part in ("dev", "test")}
    seen = io.BytesIO()
    np.save(seen, text_checksums(splits["train"].texts))
    save_model(
        out,
        trained,
        results=metrics,
        command=COMMAND,
        about_data=ABOUT_DATA[name],
        others={SEEN: seen.getvalue()},
    )
    return metrics["test"]


def _mean_of_runs(splits: Splits, options: dict[str, Any], reporter: ProgressReporter) -> TrainedModel:
    """The mean of the weights of several runs from the same start, drawn back towards that start.

    Both were chosen on dev parts: on its own kind of data such a model does as well as one run, and better on others.
    """

    def run(init: TrainedModel | None, **more: int) -> TrainingRun:
        return train(
            "late-interaction", splits["train"], splits["dev"], options=options | more, init=init, reporter=reporter
        )

    start = run(None, epochs=0).trained
    runs = []
    for seed in range(1, RUNS + 1):
        runs.append(run(start, seed=seed))
        reporter.say(f"Run {seed} of {RUNS}: dev MAP {runs[-1].history.best:.4f}")
    trained, *others = (each.trained for each in runs)
    states = [each.model.state_dict() for each in (trained, *others)]
    trained.model.load_state_dict({name: sum(state[name] for state in states) / RUNS for name in states[0]})
    return _towards_start(trained, splits)


def _towards_start(trained: TrainedModel, splits: Splits) -> TrainedModel:
    """The model with weights between those of its start, once the linear layer is fitted, and its own."""
    ready = prepare_training(trained.name, splits["train"], splits["dev"], options=trained.training)
    fit_linear(ready.model, ready.texts, training_examples(ready.pairs, ready.config), ready.config)
    start, end = ready.model.state_dict(), trained.model.state_dict()
    trained.model.load_state_dict({name: start[name].lerp(end[name], KEPT) for name in end})
    calibration = calibrate(trained.scorer(), splits["dev"], ready.config)
    return replace(trained, calibration=calibration, history=History())


def _metrics(trained: TrainedModel, pairs: Pairs) -> dict[str, float]:
    return evaluate_scores(pairs, trained.scorer().score_pairs(pairs), threshold=None).metrics


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
