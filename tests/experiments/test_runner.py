"""Finished runs are kept and not repeated; failed ones are named."""

from pathlib import Path

import pytest

from experiments.work import Answer, answer
from pairlight.core.errors import InputError
from pairlight.core.progress import ProgressReporter
from pairlight.experiments.executor import Completed, Failed, ProcessExecutor, SerialExecutor
from pairlight.experiments.runner import RunLog, check_failures, run_all, specs_of_seeds
from pairlight.experiments.spec import RunSpec, plan_runs
from pairlight.experiments.store import ResultStore
from toy_pairs import overlap

SPLITS = {"train": overlap(3, seed=0)}


def spec(model: str, seed: int = 1, **options: float | str) -> RunSpec:
    return RunSpec(model, seed, {}, options)


class Lines(ProgressReporter):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def test_a_stopped_run_continues_where_it_was(tmp_path: Path) -> None:
    store = ResultStore(tmp_path, Answer)
    specs = [spec("a", warn="short texts"), spec("b"), spec("c", fail="kill")]
    seen: list[tuple[str, float, tuple[str, ...]]] = []

    def completed(run: Completed[Answer], done: float) -> None:
        seen.append((run.spec.model, round(done, 2), run.notes))

    with pytest.raises(InputError, match="was killed"):
        run_all(specs, answer, SPLITS, store, ProcessExecutor(1), on_completed=completed)
    assert seen == [("a", 0.33, ("short texts",)), ("b", 0.67, ())]

    again = [*specs[:2], spec("d")]
    found = run_all(again, answer, SPLITS, store, SerialExecutor(), on_completed=completed)
    assert seen[2:] == [("a", 0.33, ("short texts",)), ("b", 0.67, ()), ("d", 1.0, ())]
    assert list(found) == [each.name for each in again]
    assert len({result.process for result in found.values()}) == 2  # a and b are those of the first time


def test_a_failed_run_has_no_result_and_is_not_stored(tmp_path: Path) -> None:
    store = ResultStore(tmp_path, Answer)
    reporter = Lines()
    log = RunLog(reporter)
    specs = [spec("a", fail="input"), spec("b", warn="x"), spec("c", 2, warn="x")]

    def completed(run: Completed[Answer], done: float) -> None:
        log.completed(run.spec.model, run.notes)

    found = run_all(specs, answer, SPLITS, store, SerialExecutor(), on_completed=completed, on_failed=log.failed)
    assert [result.model for result in found.values()] == ["b", "c"]
    assert specs[0] not in store
    assert reporter.lines == ["Failed: a, seed 1: k=0 is out of range.", "b", "Note: x", "c"]
    with pytest.raises(InputError, match=r"^1 run failed\. a, seed 1: k=0 is out of range\.$") as error:
        check_failures(log.failures)
    assert error.value.option == "k"
    two = [*log.failures, Failed(specs[1], InputError("no"))]
    with pytest.raises(InputError, match=r"^2 runs failed\. The first: a, seed 1: k=0"):
        check_failures(two)
    check_failures([])


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ('{"format": 1}', "the record is None, not an array"),
        ('{"format": 1, "notes": [], "result": {"model": 3}}', "the record has no field"),
        ('{"format": 1, "notes": [], "sha256": ""}', "its checksum is wrong"),
        ('{"format": 1, "no', "not valid JSON"),
        ('{"model": "a"}', "has no format number"),
    ],
)
def test_a_damaged_result_costs_only_itself(content: str, fault: str, tmp_path: Path) -> None:
    store, one = ResultStore(tmp_path, Answer), spec("a")
    (tmp_path / f"{one.name}.json").write_text(content)
    with pytest.warns(UserWarning, match=rf"{one.name}\.json .*{fault}.*: the run is repeated\."):
        run_all([one], answer, SPLITS, store, SerialExecutor())
    assert run_all([one], answer, SPLITS, store, SerialExecutor())  # without a warning, which would be an error


def test_a_result_of_a_newer_version_is_not_replaced(tmp_path: Path) -> None:
    store, one = ResultStore(tmp_path, Answer), spec("a")
    (tmp_path / f"{one.name}.json").write_text('{"format": 7}')
    with pytest.raises(InputError, match="has format 7, and this version reads format 1: install a newer version"):
        run_all([one], answer, SPLITS, store, SerialExecutor())


def test_seeds_that_were_finished_before_stay_part_of_an_experiment(tmp_path: Path) -> None:
    store = ResultStore(tmp_path, Answer)
    for seed in (1, 2, 3, 5):
        store.save(Completed(spec("a", seed), Answer("a", 1, 1, 1)))
    assert [each.seed for each in specs_of_seeds(lambda seed: spec("a", seed), store, 1)] == [1, 2, 3]
    assert [each.seed for each in specs_of_seeds(lambda seed: spec("a", seed), store, 4)] == [1, 2, 3, 4, 5]
    assert specs_of_seeds(lambda seed: spec("b", seed), store, 0) == []


def test_every_way_to_train_a_model_has_a_file_name_of_its_own() -> None:
    specs = [spec("a"), spec("a", 2), spec("b"), spec("a", lr=0.1), RunSpec("a", 1, {"k": 1}, {})]
    assert len({each.name for each in specs}) == len(specs)
    assert spec("a", x=1.0, y=2.0).name == spec("a", y=2.0, x=1.0).name
    assert specs[0].name.startswith("a-1-")


def test_planned_runs_have_the_defaults_of_their_models_and_the_given_options() -> None:
    assert plan_runs(["mv-lstm"], [2], {"patience": 1}) == [RunSpec("mv-lstm", 2, {}, {"patience": 1})]
    runs = plan_runs(["bm25", "random"], [1, 2], {})
    assert [each.settings for each in runs] == [{}, {}, {"seed": 1}, {"seed": 2}]
    assert [(each.model, each.seed) for each in runs] == [("bm25", 1), ("bm25", 2), ("random", 1), ("random", 2)]


def test_planning_refuses_unknown_models_and_invalid_options() -> None:
    with pytest.raises(InputError, match="magic"):
        plan_runs(["magic"], [1], {})
    with pytest.raises(InputError, match="lr=0"):
        plan_runs(["bm25"], [1], {"lr": 0.0})
