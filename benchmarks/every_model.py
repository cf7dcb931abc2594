"""Measures every model on texts of fixed length and on real text: speed, memory, and overhead of training."""

from collections.abc import Callable
from typing import Any

from benchmarks.benchmark_model import BenchmarkModel
from benchmarks.clock import interleaved
from benchmarks.workloads import fixed_length_pairs, real_text_pairs
from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs

BATCH = 64  # positives in a step, with one negative each: 128 pairs
_STEPS = 8  # of an epoch, so that the fixed cost of an epoch does not count

WORKLOADS: dict[str, Callable[[int], Pairs]] = {
    "30x40": lambda lists: fixed_length_pairs(30, 40, lists),
    "50x50": lambda lists: fixed_length_pairs(50, 50, lists),
    "ragged": real_text_pairs,
}


def every_model(names: list[str], rounds: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """One row for each workload and model."""
    rows = []
    for workload, pairs_of in WORKLOADS.items():
        say(f"Every model, {workload}")
        try:
            pairs = pairs_of(BATCH * _STEPS)
        except InputError as error:
            rows.append({"workload": workload, "skipped": str(error)})
            continue
        models = {name: _affordable(BenchmarkModel(name, pairs, BATCH)) for name in names}
        train = interleaved({name: m.training_speed for name, m in models.items() if m.has_weights}, rounds)
        score = interleaved({name: m.scoring_speed for name, m in models.items()}, rounds)
        rows += [
            {
                "workload": workload,
                "model": name,
                "train": train.get(name),
                "score": score[name],
                "train_mb": model.training_megabytes() if model.has_weights else None,
                "score_mb": model.scoring_megabytes(),
                **(model.overhead() if model.has_weights else {}),
            }
            for name, model in models.items()
        ]
    return rows


def _affordable(model: BenchmarkModel) -> BenchmarkModel:
    """One step per epoch for a model that needs more than half a second for it. This also warms the model up."""
    one = model.first_lists(BATCH)
    speed = one.training_speed() if model.has_weights else one.scoring_speed()
    return one if speed < 4 * BATCH else model
