"""The LCS experiment: paths are compared with dynamic programming, and the report shows every run."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.core.progress import ProgressReporter
from pairlight.datasets.lcs import lcs, lcs_table
from pairlight.experiments import lcs as experiment
from pairlight.experiments.executor import ProcessExecutor, SerialExecutor
from pairlight.experiments.lcs import LcsReport, LcsResult, LcsTable, is_optimal, run_lcs, train_on_lcs
from pairlight.experiments.lcs_report import write_lcs_report
from pairlight.experiments.records import read_record
from pairlight.experiments.runner import RunLog
from pairlight.experiments.spec import RunSpec
from pairlight.explain.backtrace import backtrace, lcs_path

LEFT, RIGHT = list("ABCDE"), list("FACGD")
FIGURE_4 = ((5, 5), (4, 5), (3, 4), (3, 3), (2, 2), (1, 2), (0, 1))
DIAGONAL, NEW_STATE = 0, 3


def in_table(path):
    return tuple((i + 1, j + 1) for i, j in path)


def gates_along(path, diagonal: int) -> np.ndarray:
    """Gates that lead along a path; `diagonal` is the gate that opens for diagonal steps."""
    gates = np.full((5, 5, 4), 0.1)
    gates[..., 2] = 0.2
    for (i, j), (k, m) in pairwise(path):
        gate = {(1, 1): diagonal, (1, 0): 1, (0, 1): 2}[i - k, j - m]
        gates[i - 1, j - 1, gate] = 0.7
    return gates


def test_dynamic_programming_takes_the_path_of_figure_4() -> None:
    assert in_table(lcs_path(LEFT, RIGHT, leave_grid=True)) == FIGURE_4


@pytest.mark.parametrize("diagonal", [DIAGONAL, NEW_STATE])
def test_the_gate_of_the_new_state_counts_as_a_diagonal_step(diagonal: int) -> None:
    gates = gates_along(FIGURE_4, diagonal)
    assert in_table(backtrace(gates, leave_grid=True)) == FIGURE_4
    assert (in_table(backtrace(gates[..., :3], leave_grid=True)) == FIGURE_4) == (diagonal == DIAGONAL)


@pytest.mark.parametrize(
    ("path", "optimal"),
    [
        (FIGURE_4, True),
        (((5, 5), (5, 4), (4, 4), (3, 4), (3, 3), (2, 2), (1, 2), (0, 1)), False),  # misses the D
        (((5, 5), (4, 5), (3, 4), (3, 3), (2, 2), (1, 2), (1, 1), (0, 1)), False),  # misses the A
    ],
)
def test_only_a_path_that_misses_no_letter_is_optimal(path, optimal: bool) -> None:
    assert is_optimal(path, lcs_table(LEFT, RIGHT), LEFT, RIGHT) is optimal


@pytest.fixture(scope="module")
def run() -> LcsResult:
    options = experiment.OPTIONS | {"epochs": 2}
    return train_on_lcs(RunSpec("match-srnn", 3, experiment.SETTINGS, options), lcs(limit=60))


def test_a_run_has_errors_and_the_states_and_gates_of_the_example(run: LcsResult) -> None:
    assert len(run.epochs) == 2
    errors = [epoch.metric for epoch in run.epochs]
    assert min(errors) == pytest.approx(run.dev["error"])
    assert errors[run.best_epoch - 1] == min(errors)
    assert run.test["error in letters"] == pytest.approx(5 * run.test["error"])
    assert np.shape(run.example.states) == (5, 5)
    assert np.shape(run.example.gates) == (5, 5, 4)
    np.testing.assert_allclose(np.sum(run.example.gates, -1), 1, atol=1e-3)
    np.testing.assert_array_equal(run.example.table, lcs_table(LEFT, RIGHT))
    assert run.example.table_path == FIGURE_4
    states, table = np.array(run.example.states), np.array(run.example.table)[1:, 1:]
    assert run.example.max_error == pytest.approx(np.abs(states - table).max(), abs=1e-3)
    assert LcsResult.from_dict(json.loads(json.dumps(run.as_dict()))) == run


def test_the_report_has_every_run_and_figure_4_of_the_best(run: LcsResult, tmp_path: Path) -> None:
    other = replace(run, seed=4, dev={"error": 0.5})
    report = LcsReport(
        "small", "pairlight reproduce match-srnn-lcs", {"length 5": LcsTable({"train": 60}, 5, (run, other), 0)}
    )
    text = write_lcs_report(tmp_path, report)
    assert f"| 3 (best) | {run.dev['error']:.4f} | {run.test['error']:.4f} |" in text
    assert "| 4 | 0.5000 |" in text
    assert read_record(tmp_path / "match-srnn-lcs-small.json", LcsReport, "run it again") == report
    assert "data:image/png;base64," in (tmp_path / "match-srnn-lcs-small.html").read_text()
    figures = sorted(tmp_path.glob("*.png"))
    assert [figure.name for figure in figures] == [
        "match-srnn-lcs-small-length-5-curves.png",
        "match-srnn-lcs-small-length-5-figure-4.png",
    ]
    assert all(figure.read_bytes().startswith(b"\x89PNG") for figure in figures)


def test_finished_runs_are_kept_and_the_best_on_dev_is_found(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(experiment, "OPTIONS", experiment.OPTIONS | {"epochs": 1})
    monkeypatch.setattr(experiment, "SMALL", 40)
    log = RunLog(ProgressReporter())
    given = {"scale": "small", "executor": SerialExecutor(), "reporter": ProgressReporter(), "log": log}
    tables = run_lcs(tmp_path, seeds=2, **given)
    assert list(tables) == ["length 5", "length 5 to 15"]
    for table in tables.values():
        assert table.best_run.dev["error"] == min(run.dev["error"] for run in table.runs)
    assert len(list((tmp_path / "runs").rglob("*.json"))) == 4
    assert run_lcs(tmp_path, seeds=1, **given) == tables  # a finished seed stays part of the experiment


def test_if_no_run_finishes_the_failure_is_raised(tmp_path: Path, monkeypatch) -> None:
    def failing(spec, splits):
        raise InputError("The loss became nan.")

    monkeypatch.setattr(experiment, "train_on_lcs", failing)
    log = RunLog(ProgressReporter())
    with pytest.raises(InputError, match=r"1 run failed\. match-srnn, seed 1: The loss became nan"):
        run_lcs(tmp_path, seeds=1, scale="small", executor=SerialExecutor(), reporter=ProgressReporter(), log=log)


def test_nine_of_ten_starts_learn_to_count() -> None:
    splits = lcs(limit=2000)
    splits["test"] = splits["test"].take(np.arange(50))
    options = experiment.OPTIONS | {"epochs": 40}
    runs = [train_on_lcs(RunSpec("match-srnn", seed, experiment.SETTINGS, options), splits) for seed in range(1, 11)]
    constant = np.abs(splits["dev"].labels - splits["train"].labels.mean()).mean()
    assert sum(run.dev["error"] < constant / 4 for run in runs) >= 9
    assert np.median([run.test["optimal paths with three gates"] for run in runs]) > 0.8


def test_the_path_by_the_rule_of_the_paper_ignores_the_gate_of_the_new_state(run: LcsResult) -> None:
    by_diagonal = replace(run.example, gates=gates_along(FIGURE_4, DIAGONAL).tolist())
    assert by_diagonal.paper_path == FIGURE_4
    by_new_state = replace(run.example, gates=gates_along(FIGURE_4, NEW_STATE).tolist())
    assert by_new_state.paper_path != FIGURE_4


@pytest.mark.slow
def test_the_best_of_five_seeds_counts_and_takes_the_path_of_the_paper(tmp_path: Path) -> None:
    reporter = ProgressReporter()
    tables = run_lcs(
        tmp_path, seeds=5, scale="full", executor=ProcessExecutor(2), reporter=reporter, log=RunLog(reporter)
    )
    for table in tables.values():
        assert table.best_run.test["error"] <= experiment.TARGET
        assert table.best_run.example.max_error <= 0.15
        assert table.best_run.example.path == FIGURE_4
        assert all(run.test["error"] <= experiment.TARGET for run in table.runs)
