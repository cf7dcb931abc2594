"""Runs all specifications that have no stored result yet, and reports finished and failed runs."""

import warnings
from collections.abc import Callable, Sequence
from itertools import count, takewhile

from pairlight.core.errors import InputError
from pairlight.core.progress import ProgressReporter
from pairlight.core.records import RecordError
from pairlight.data.splits import Splits
from pairlight.experiments.executor import Completed, Executor, Failed, Work
from pairlight.experiments.records import R
from pairlight.experiments.spec import RunSpec
from pairlight.experiments.store import ResultStore


def run_all(
    specs: Sequence[RunSpec],
    work: Work[R],
    splits: Splits,
    store: ResultStore[R],
    executor: Executor,
    *,
    on_completed: Callable[[Completed[R], float], None] = lambda run, done: None,
    on_failed: Callable[[Failed], None] = lambda run: None,
) -> dict[str, R]:
    """The results of all runs by the names of their specifications; runs in the store are not repeated.

    `on_completed` is called with every finished run, those in the store first, and with the share of runs that are
    done. A failed run is passed to `on_failed` and has no result. A run whose file in the store is damaged is repeated,
    with a warning.
    """
    results: dict[str, R] = {}

    def completed(run: Completed[R]) -> None:
        results[run.spec.name] = run.result
        on_completed(run, len(results) / len(specs))

    missing = []
    for spec in specs:
        try:
            if spec in store:
                completed(store.load(spec))
            else:
                missing.append(spec)
        except RecordError as error:
            warnings.warn(str(error), stacklevel=2)
            missing.append(spec)
    if missing:
        for run in executor.submit(missing, work, splits):
            if isinstance(run, Failed):
                on_failed(run)
            else:
                store.save(run)
                completed(run)
    return {spec.name: results[spec.name] for spec in specs if spec.name in results}


def specs_of_seeds(plan: Callable[[int], RunSpec], store: ResultStore[R], seeds: int) -> list[RunSpec]:
    """The specifications of the seeds 1 to `seeds`, and of the seeds after them whose results are stored."""
    return list(takewhile(lambda spec: spec.seed <= seeds or spec in store, map(plan, count(1))))


class RunLog:
    """Prints a line for every finished or failed run, and each warning once."""

    def __init__(self, reporter: ProgressReporter) -> None:
        self.reporter = reporter
        self.failures: list[Failed] = []
        self._noted: set[str] = set()

    def completed(self, line: str, notes: Sequence[str]) -> None:
        self.reporter.say(line)
        for note in notes:
            if note not in self._noted:
                self._noted.add(note)
                self.reporter.say(f"Note: {note}")

    def failed(self, run: Failed) -> None:
        self.failures.append(run)
        self.reporter.say(f"Failed: {_failure(run)}")


def check_failures(failures: Sequence[Failed]) -> None:
    """Raise an InputError if there are failed runs; called when everything else is done."""
    if failures:
        runs = "1 run" if len(failures) == 1 else f"{len(failures)} runs"
        first = "" if len(failures) == 1 else "The first: "
        raise InputError(f"{runs} failed. {first}{_failure(failures[0])}", option=failures[0].error.option)


def _failure(run: Failed) -> str:
    return f"{run.spec.model}, seed {run.spec.seed}: {run.error}"
