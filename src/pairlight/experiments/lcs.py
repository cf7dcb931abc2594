"""Match-SRNN learns the length of the longest common subsequence: section 5 and figure 4 of its paper."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.core.progress import ProgressReporter
from pairlight.data.splits import Splits
from pairlight.datasets.lcs import lcs, lcs_table
from pairlight.experiments.executor import Completed, Executor
from pairlight.experiments.records import Record, Value
from pairlight.experiments.runner import RunLog, check_failures, run_all, specs_of_seeds
from pairlight.experiments.runs import epochs_of, run_training, train_seconds, trained_parameters
from pairlight.experiments.spec import RunResult, RunSpec
from pairlight.experiments.store import ResultStore
from pairlight.explain.backtrace import backtrace, lcs_path
from pairlight.inference.scorer import ModelScorer
from pairlight.layers.collate import collate
from pairlight.models.match_srnn import MatchSRNN

TablePath = tuple[tuple[int, int], ...]  # positions in the table, from its last corner to row 0 or column 0

LENGTHS = {"length 5": (5, 5), "length 5 to 15": (5, 15)}
SMALL = 2000  # training pairs at small scale
EXAMPLE = ("A B C D E", "F A C G D")
# The reduced form of the paper. The gates average states, so with tanh no state could exceed 1.
SETTINGS: dict[str, Value] = {
    "interaction": "indicator",
    "hidden": 1,
    "reset_gates": False,
    "activation": "relu",
    "dim": 1,
    "evidence": False,
}
OPTIONS: dict[str, Value] = {
    "loss": "squared",
    "optimizer": "adam",
    "lr": 0.01,
    "init_scale": 0.5,
    "epochs": 100,
    "patience": 20,
    "vectors": "none",
}
TARGET = 0.01  # mean absolute error


@dataclass(frozen=True)
class LcsGrid(Record):
    """The states and gates of the model for one pair, next to the dynamic programming table."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    states: list[list[float]]  # [L, R] in letters
    raw_states: list[list[float]]  # [L, R] as the model computes them
    table: list[list[int]]  # [L+1, R+1]
    gates: list[list[list[float]]]  # [L, R, 4] diagonal, top, left, new state
    path: TablePath  # along the largest gates
    table_path: TablePath  # of dynamic programming
    is_optimal: bool  # whether the path is one of a longest common subsequence
    is_optimal_three_gates: bool  # the same without the gate of the new state
    max_error: float  # the largest difference of a state from the table, in letters


@dataclass(frozen=True, kw_only=True)
class LcsResult(RunResult):
    """A run: `dev` and `test` have the mean absolute error, `test` also the shares of optimal paths."""

    best_epoch: int
    example: LcsGrid  # for the example of the paper


@dataclass(frozen=True)
class LcsTable(Record):
    """All runs on sequences of some lengths."""

    sizes: dict[str, int]  # pairs of every split
    longest: int
    runs: tuple[LcsResult, ...]
    best: int  # the position of the run with the lowest error on dev

    @property
    def best_run(self) -> LcsResult:
        return self.runs[self.best]


@dataclass(frozen=True)
class LcsReport(Record):
    """The results of the experiment by sequence length."""

    scale: str
    command: str
    tables: dict[str, LcsTable]


def run_lcs(
    out: Path, *, seeds: int, scale: str, executor: Executor, reporter: ProgressReporter, log: RunLog
) -> dict[str, LcsTable]:
    """Train with `seeds` seeds on sequences of each length; finished runs are not repeated."""
    runs = f"Runs: {len(LENGTHS)} lengths of sequences x {seeds} seeds. Finished runs are kept in {out / 'runs'}."
    reporter.say(runs)
    tables = {}
    for name, (shortest, longest) in LENGTHS.items():
        splits = lcs(shortest=shortest, longest=longest, limit=SMALL if scale == "small" else None)
        store = ResultStore(out / "runs" / f"{name.replace(' ', '-')}-{scale}", LcsResult)

        def completed(run: Completed[LcsResult], done: float, name: str = name) -> None:
            error = f"test error {run.result.test['error']:.4f}"
            log.completed(f"{name}, seed {run.spec.seed}: {error}, {run.result.seconds:.0f} s", run.notes)
            reporter.update(name, done)

        specs = specs_of_seeds(lambda seed: RunSpec("match-srnn", seed, SETTINGS, OPTIONS), store, seeds)
        found = run_all(specs, train_on_lcs, splits, store, executor, on_completed=completed, on_failed=log.failed)
        if not found:
            check_failures(log.failures)
            raise InputError(f"No run on sequences of {name} finished.")
        results = tuple(found.values())
        best = min(range(len(results)), key=lambda i: results[i].dev["error"])
        tables[name] = LcsTable({split: len(pairs) for split, pairs in splits.items()}, longest, results, best)
    return tables


def train_on_lcs(spec: RunSpec, splits: Splits) -> LcsResult:
    """Train, select the epoch with the lowest error on dev, and compare states and paths with dynamic programming."""
    started = time.perf_counter()

    def error(scorer: ModelScorer, split: str) -> float:
        return float(np.abs(scorer.score_pairs(splits[split]) - splits[split].labels).mean())

    run = run_training(spec, splits, spec.options, lambda scorer: -error(scorer, "dev"))
    scorer, test = run.trained.scorer(), splits["test"]
    longest = max(len(text.split()) for pairs in splits.values() for text in pairs.texts)
    grids = [
        lcs_grid(scorer, test.texts[i].split(), test.texts[j].split(), longest)
        for i, j in zip(test.left, test.right, strict=True)
    ]
    test_error = error(scorer, "test")
    epochs = epochs_of(run.history)
    return LcsResult(
        model=spec.model,
        seed=spec.seed,
        settings=spec.settings,
        options=spec.options,
        dev={"error": error(scorer, "dev")},
        test={
            "error": test_error,
            "error in letters": longest * test_error,
            "optimal paths": float(np.mean([grid.is_optimal for grid in grids])),
            "optimal paths with three gates": float(np.mean([grid.is_optimal_three_gates for grid in grids])),
        },
        epochs=tuple(replace(epoch, metric=None if epoch.metric is None else -epoch.metric) for epoch in epochs),
        train_seconds=train_seconds(run.history),
        seconds=round(time.perf_counter() - started, 1),
        parameters=trained_parameters(run.trained.model),
        best_epoch=run.history.best_epoch or 0,
        example=lcs_grid(scorer, EXAMPLE[0].split(), EXAMPLE[1].split(), longest),
    )


@torch.no_grad()
def lcs_grid(scorer: ModelScorer, left: Sequence[str], right: Sequence[str], longest: int) -> LcsGrid:
    """The states and the path of a pair, next to the table and the path of dynamic programming.

    States are given in letters: the score of the model if both sequences ended at that cell, times the greatest
    length of a sequence. The scale of the states themselves is arbitrary, since the last layer rescales them.
    """
    model = scorer.model
    if not isinstance(model, MatchSRNN):
        raise TypeError(f"{scorer.name} has no states of a spatial GRU.")
    texts = scorer.tokenizer.tokenize([" ".join(left), " ".join(right)], scorer.max_length)
    tokens = [collate(texts, np.array([number]), torch.device("cpu")) for number in (0, 1)]
    cells = model.aggregate.states_and_gates(model.interact(*model.embed(*tokens)))
    states = longest * model.score(cells.states)[0, :, :, 0].double().numpy()  # [L, R]
    gates = cells.update[0, :, :, :, 0].double().numpy()  # [L, R, 4]
    table = lcs_table(left, right)
    path = _in_table(backtrace(gates, leave_grid=True))
    three_gates = _in_table(backtrace(gates[..., :3], leave_grid=True))
    return LcsGrid(
        left=tuple(left),
        right=tuple(right),
        states=states.round(4).tolist(),
        raw_states=cells.states[0, :, :, 0].double().numpy().round(4).tolist(),
        table=table.tolist(),
        gates=gates.round(4).tolist(),
        path=path,
        table_path=_in_table(lcs_path(left, right, leave_grid=True)),
        is_optimal=is_optimal(path, table, left, right),
        is_optimal_three_gates=is_optimal(three_gates, table, left, right),
        max_error=float(np.abs(states - table[1:, 1:]).max()),
    )


def is_optimal(path: TablePath, table: NDArray[np.int64], left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether every step of a path is one by which the recursion of `lcs_table` may have found its maximum."""
    for (i, j), (k, m) in pairwise(path):
        match = int(k < i and m < j and left[i - 1] == right[j - 1])
        if table[k, m] + match != table[i, j]:
            return False
    return True


def _in_table(path: TablePath) -> TablePath:
    """Cells of the grid as positions in the table, which has an additional row and column 0."""
    return tuple((i + 1, j + 1) for i, j in path)
