"""Match-SRNN learns to count a longest common subsequence: section 5 and figure 4 of its paper."""

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.experiments.compare import Cell, Parts, compare, specs_of_seeds
from pairlight.core.errors import InputError
from pairlight.datasets.lcs import lcs, table

Steps = list[tuple[int, int]]  # places in the table, from its last corner to its edge

LENGTHS = {"length 5": (5, 5), "length 5 to 15": (5, 15)}
EXAMPLE = ("A B C D E", "F A C G D")
# The paper's degenerate form. Softmaxed gates mix states convexly, so with tanh no state could pass 1.
SETTINGS = {"interaction": "indicator", "hidden": 1, "reset_gates": False, "activation": "relu", "dim": 1}
OPTIONS: dict[str, Any] = {
    "loss": "squared",
    "optimizer": "adam",
    "lr": 0.01,
    "init_scale": 0.5,
    "epochs": 100,
    "patience": 20,
    "vectors": "none",
}
TARGET = 0.01  # mean absolute error


def reproduce(
    out: Path,
    *,
    seeds: int,
    jobs: int,
    small: bool,
    done: Callable[[str, Cell, dict[str, Any], float], None],
    failed: Callable[[Cell, InputError], None],
) -> dict[str, Any]:
    """Train from `seeds` starts on sequences of both lengths; tell of all starts there are, and of the best on dev."""
    found: dict[str, Any] = {}
    for name, (shortest, longest) in LENGTHS.items():
        parts = lcs(shortest=shortest, longest=longest, limit=2000 if small else None)
        folder = out / "cells" / f"{name.replace(' ', '-')}-{'small' if small else 'full'}"
        cells = specs_of_seeds(lambda seed: Cell("match-srnn", seed, SETTINGS, OPTIONS), folder, seeds)
        told = compare(
            parts,
            cells,
            folder,
            jobs=jobs,
            done=lambda cell, result, share, name=name: done(name, cell, result, share),  # type: ignore[misc]
            failed=failed,
            work=counted,
        )
        if not told:
            raise InputError(f"No start on sequences of {name} could be trained: nothing is there to be told.")
        starts = list(told.values())
        found[name] = {
            "sizes": {part: len(pairs) for part, pairs in parts.items()},
            "longest": longest,
            "starts": starts,
            "best": min(range(len(starts)), key=lambda i: starts[i]["dev"]["error"]),
        }
    return found


def counted(cell: Cell, parts: Parts) -> dict[str, Any]:
    """Train from one start, keep the epoch of the least error on dev, and look into the grid."""
    import torch

    from pairlight.inference.scoring import score_pairs
    from pairlight.core.progress import ProgressReporter
    from pairlight.training.loop import fit
    from pairlight.training.config import TrainingConfig
    from pairlight.training.initialize import start

    started = time.perf_counter()
    options = TrainingConfig.of({}, cell.options | {"seed": cell.seed})
    torch.manual_seed(cell.seed)
    tokenizer, model = start(cell.model, cell.settings, parts["train"], options, ProgressReporter(None))
    encoded = {part: tokenizer.encode(pairs.texts, options.max_length) for part, pairs in parts.items()}

    def error(part: str) -> float:
        pairs = parts[part]
        return float(np.abs(score_pairs(model, encoded[part], pairs.left, pairs.right) - pairs.labels).mean())

    history = fit(model, encoded["train"], parts["train"], options, judge=lambda: -error("dev"))
    test = parts["test"]
    longest = max(len(text.split()) for pairs in parts.values() for text in pairs.texts)

    def looked(left: str, right: str) -> dict[str, Any]:
        return look(model, tokenizer.encode([left, right], options.max_length), left.split(), right.split(), longest)

    seen = [looked(test.texts[i], test.texts[j]) for i, j in zip(test.left, test.right, strict=True)]
    return {
        "model": cell.model,
        "seed": cell.seed,
        "settings": cell.settings,
        "options": cell.options,
        "dev": {"error": error("dev")},
        "test": {
            "error": error("test"),
            "error in letters": longest * error("test"),
            "same path": float(np.mean([each["same_path"] for each in seen])),
            "same path by three gates": float(np.mean([each["same_path_three_gates"] for each in seen])),
        },
        "curve": [epoch | {"metric": -epoch["metric"]} for epoch in history.epochs],
        "best_epoch": history.best_epoch,
        "train_seconds": round(sum(epoch["seconds"] for epoch in history.epochs), 1),
        "seconds": round(time.perf_counter() - started, 1),
        "example": looked(*EXAMPLE),
    }


def look(model: Any, encoded: Any, left: list[str], right: list[str], longest: int) -> dict[str, Any]:
    """The grid of states beside the table of dynamic programming, and the path of the gates beside its paths.

    A state is told in letters, as the score that the model would give if the texts ended there: the state's own
    scale is free, since the weight of the score takes it back.
    """
    import torch

    from pairlight.inference.scoring import tokens

    with torch.no_grad():
        cpu = torch.device("cpu")
        u, v = model.words(tokens(encoded, np.array([0]), cpu), tokens(encoded, np.array([1]), cpu))
        cells = model.aggregate.cells(model.interact(u, v))
        states = longest * model.score(cells.states)[0, :, :, 0].double().numpy()  # [L, R]
        gates = cells.update[0, :, :, :, 0].double().numpy()  # [L, R, 4]
    c = table(left, right)
    path = trace(gates)
    return {
        "left": left,
        "right": right,
        "states": states.round(4).tolist(),
        "raw_states": cells.states[0, :, :, 0].double().numpy().round(4).tolist(),
        "table": c.tolist(),
        "gates": gates.round(4).tolist(),
        "path": path,
        "table_path": table_path(c, left, right),
        "same_path": optimal(path, c, left, right),
        "same_path_three_gates": optimal(trace(gates, new=False), c, left, right),
        "farthest": float(np.abs(states - c[1:, 1:]).max()),
    }


def trace(gates: NDArray[np.float64], new: bool = True) -> Steps:
    """From the last cell along the largest gate (diagonal, top, left) until the path leaves the grid.

    Unlike the paper: the gate of the new state counts with the diagonal. The paper's (7) has one term for both,
    z_d h_i-1,j-1 + z_i h', and where h' already holds the diagonal's state, a match opens z_i alone and leaves z_d
    shut. Without `new`, the three gates are taken by themselves.
    """
    ways = gates[..., :3].copy()
    if new:
        ways[..., 0] += gates[..., 3]
    i, j = gates.shape[0], gates.shape[1]
    path = [(i, j)]
    while i and j:
        way = int(np.argmax(ways[i - 1, j - 1]))
        i, j = i - (way != 2), j - (way != 1)
        path.append((i, j))
    return path


def optimal(path: Steps, c: NDArray[np.int64], left: list[str], right: list[str]) -> bool:
    """Whether every step of a path is one of those by which (7) may have found its maximum."""
    for (i, j), (k, m) in pairwise(path):
        gain = int(k < i and m < j and left[i - 1] == right[j - 1])
        if c[k, m] + gain != c[i, j]:
            return False
    return True


def table_path(c: NDArray[np.int64], left: list[str], right: list[str]) -> Steps:
    """The path of dynamic programming: along a match where there is one, else to the top before the left."""
    i, j = len(left), len(right)
    path = [(i, j)]
    while i and j:
        if left[i - 1] == right[j - 1]:
            i, j = i - 1, j - 1
        elif c[i - 1, j] == c[i, j]:
            i -= 1
        else:
            j -= 1
        path.append((i, j))
    return path
