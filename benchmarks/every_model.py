"""Every model on texts of fixed length and on real ragged text: pairs a second, memory, and where the time goes."""

from collections.abc import Callable
from typing import Any

from benchmarks.clock import interleaved
from benchmarks.subject import Subject
from benchmarks.workloads import made, ragged
from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError

BATCH = 64  # better texts in a step, each with a worse one: 128 pairs
_STEPS = 8  # in an epoch, for models that are quick: with fewer, what an epoch takes to begin would count

WORKLOADS: dict[str, Callable[[int], Pairs]] = {
    "30x40": lambda lists: made(30, 40, lists),
    "50x50": lambda lists: made(50, 50, lists),
    "ragged": ragged,
}


def every_model(names: list[str], rounds: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    rows = []
    for workload, pairs_of in WORKLOADS.items():
        say(f"Every model, {workload}")
        try:
            pairs = pairs_of(BATCH * _STEPS)
        except InputError as error:
            rows.append({"workload": workload, "skipped": str(error)})
            continue
        subjects = {name: _affordable(Subject(name, pairs, BATCH)) for name in names}
        trained = interleaved({n: s.trained for n, s in subjects.items() if s.trains}, rounds)
        scored = interleaved({n: s.scored for n, s in subjects.items()}, rounds)
        rows += [
            {
                "workload": workload,
                "model": name,
                "train": trained.get(name),
                "score": scored[name],
                "train_mb": subject.training_megabytes() if subject.trains else None,
                "score_mb": subject.scoring_megabytes(),
                **(subject.outside() if subject.trains else {}),
            }
            for name, subject in subjects.items()
        ]
    return rows


def _affordable(subject: Subject) -> Subject:
    """One step an epoch for a model that takes more than half a second for it; also warms it up."""
    one = subject.only(BATCH)
    speed = one.trained() if subject.trains else one.scored()
    return one if speed < 4 * BATCH else subject
