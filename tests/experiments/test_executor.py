"""Executors return every result as it finishes, name failed runs, and leave no process behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.work import answer
from pairlight.core.errors import InputError
from pairlight.experiments.executor import Completed, Executor, Failed, ProcessExecutor, SerialExecutor
from pairlight.experiments.spec import RunSpec
from toy_pairs import overlap

SPLITS = {"train": overlap(3, seed=0)}
EXECUTORS = [SerialExecutor(), ProcessExecutor(1)]


def spec(model: str, **options: float | str) -> RunSpec:
    return RunSpec(model, 1, {}, options)


@pytest.mark.parametrize("executor", EXECUTORS, ids=lambda each: type(each).__name__)
def test_runs_finish_in_their_order_and_failed_ones_cost_only_themselves(executor: Executor) -> None:
    runs = list(
        executor.submit(
            [spec("a"), spec("b", fail="input"), spec("c", fail="diverge"), spec("d", warn="short texts")],
            answer,
            SPLITS,
        )
    )
    assert [run.spec.model for run in runs] == ["a", "b", "c", "d"]
    first, invalid, diverged, noted = runs
    assert isinstance(first, Completed)
    assert (first.result.model, first.result.pairs, first.notes) == ("a", 12, ())
    assert isinstance(invalid, Failed)
    assert (str(invalid.error), invalid.error.option, invalid.diverged) == ("k=0 is out of range.", "k", False)
    assert isinstance(diverged, Failed)
    assert diverged.diverged
    assert "lower lr=9" in str(diverged.error)
    assert isinstance(noted, Completed)
    assert noted.notes == ("short texts",)


def test_processes_have_one_thread_and_run_at_the_same_time() -> None:
    specs = [spec("a", sleep=1), spec("b", sleep=1), spec("c")]
    runs = list(ProcessExecutor(2).submit(specs, answer, SPLITS))
    assert {run.spec.model for run in runs} == {"a", "b", "c"}
    assert all(isinstance(run, Completed) and run.result.threads == 1 for run in runs)
    processes = {run.result.process for run in runs if isinstance(run, Completed)}
    assert len(processes) == 2
    assert os.getpid() not in processes
    assert not multiprocessing.active_children()


def test_results_arrive_as_they_finish() -> None:
    specs = [spec("slow", sleep=3), spec("fast")]
    assert [run.spec.model for run in ProcessExecutor(2).submit(specs, answer, SPLITS)] == ["fast", "slow"]


def test_nothing_to_run_starts_no_process() -> None:
    assert list(ProcessExecutor(2).submit([], answer, SPLITS)) == []


@pytest.mark.parametrize("jobs", [0, -1])
def test_the_number_of_jobs_is_checked(jobs: int) -> None:
    with pytest.raises(InputError, match=f"jobs={jobs} is out of range"):
        ProcessExecutor(jobs)


def test_a_killed_process_is_reported_with_what_to_do_and_finished_runs_are_kept() -> None:
    runs = ProcessExecutor(1).submit([spec("a"), spec("b", fail="kill"), spec("c")], answer, SPLITS)
    assert next(runs).spec.model == "a"
    with pytest.raises(InputError, match="b with seed 1 was killed, which usually means that memory ran out") as error:
        next(runs)
    assert error.value.option == "jobs"
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(("fail", "kind"), [("crash", ZeroDivisionError), ("unpicklable", RuntimeError)])
def test_a_bug_in_a_process_is_raised_with_its_traceback(fail: str, kind: type[Exception]) -> None:
    with pytest.raises(kind) as error:
        list(ProcessExecutor(1).submit([spec("a", fail=fail)], answer, SPLITS))
    text = str(error.value) + "".join(getattr(error.value, "__notes__", []))
    assert "in answer" in text
    assert not multiprocessing.active_children()


def test_closing_the_iterator_ends_the_processes() -> None:
    runs = ProcessExecutor(2).submit([spec("fast"), spec("slow", sleep=60)], answer, SPLITS)
    started = time.monotonic()
    assert next(runs).spec.model == "fast"
    runs.close()  # type: ignore[attr-defined]
    assert time.monotonic() - started < 30
    assert not multiprocessing.active_children()


# A shell starts background jobs with SIGINT ignored, and the program would inherit that.
_PROGRAM = """
import multiprocessing
import signal
from experiments.work import answer
from pairlight.experiments.executor import ProcessExecutor
from pairlight.experiments.spec import RunSpec
from toy_pairs import overlap

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    specs = [RunSpec("fast", 1, {}, {}), *(RunSpec("slow", seed, {}, {"sleep": 60.0}) for seed in (1, 2))]
    try:
        for run in ProcessExecutor(2).submit(specs, answer, {"train": overlap(3, seed=0)}):
            print(run.result.process, flush=True)
    except KeyboardInterrupt:
        print("interrupted", len(multiprocessing.active_children()), flush=True)
"""


def test_ctrl_c_ends_the_processes(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(_PROGRAM)
    tests = Path(__file__).parent.parent
    program = subprocess.Popen(
        [sys.executable, tmp_path / "program.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(tests)},
        start_new_session=True,
    )
    assert program.stdout is not None
    worker = int(program.stdout.readline())
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does: to the program and its workers
    out, err = program.communicate(timeout=120)
    assert out == "interrupted 0\n"
    assert err == ""
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
