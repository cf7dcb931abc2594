"""Batch scoring while nodes, workers and drivers die: nothing is lost or duplicated, and scores are equal."""

import errno
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from cluster.conftest import files_in, is_in_a_block
from cluster.jobs import FullDiskJob, PoisonJob, SlowJob, StragglerJob, write_table
from pairlight.batch.job import run_here, run_job
from pairlight.cluster.blocks import ray_runner
from pairlight.core.progress import ProgressReporter
from pairlight.data.blocks import plan_blocks
from pairlight.data.columns import Column, TableColumns

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]

FILES, ROWS = 12, 40


class Run:
    """A scoring job on generated pairs, and its result on one machine."""

    def __init__(self, folder: Path, seconds: float = 0.7, bad: dict[int, str | None] | None = None) -> None:
        self.source = write_table(folder / "pairs", FILES, ROWS, bad)
        self.blocks = plan_blocks(str(self.source), TableColumns([Column("left", "left"), Column("right", "right")]))
        self.out, self.attempts = folder / "out", folder / "attempts"
        self.attempts.mkdir()
        self.job = SlowJob("qa-small", str(self.out), seconds=seconds, attempts=str(self.attempts))
        here = SlowJob("qa-small", str(folder / "here"), attempts=str(folder))
        run_job(here, self.blocks, run_here, ProgressReporter())
        self.expected = pq.read_table(folder / "here")

    def on(self, address: str):
        return run_job(self.job, self.blocks, ray_runner(address), ProgressReporter())

    @property
    def finished(self) -> int:
        return files_in(self.out / "_done")

    @property
    def pids(self) -> list[int]:
        return [int(path.name.split("-")[2]) for path in sorted(self.attempts.iterdir())]

    def check(self) -> None:
        """Every row once, in order, with the score of a single process, bit by bit."""
        assert pq.read_table(self.out).equals(self.expected)
        assert self.finished == len(self.blocks)


def test_a_node_that_is_lost_costs_only_its_block(nodes, when, tmp_path):
    run = Run(tmp_path, seconds=1.5)
    first, _ = nodes.add(), nodes.add()
    done = run.out / "_done"
    killer = when(lambda: run.finished >= 2 and is_in_a_block(first, run.attempts, done), lambda: nodes.kill(first))
    report = run.on(nodes.address)
    killer.join()
    run.check()
    assert report.counts == {"rows": FILES * ROWS, "bad": 0}
    assert FILES < len(run.pids) <= FILES + 2


def test_a_worker_killed_with_signal_9_is_replaced(nodes, when, tmp_path):
    run = Run(tmp_path)
    nodes.add(2)
    killer = when(lambda: run.finished >= 2, lambda: os.kill(run.pids[-1], signal.SIGKILL))
    run.on(nodes.address)
    killer.join()
    run.check()
    assert len(set(run.pids)) == 3  # two workers and the one that replaced the dead one


def test_a_driver_that_was_killed_continues_where_it_stopped(nodes, when, tmp_path):
    run = Run(tmp_path)
    nodes.add(2)
    command = [sys.executable, "-m", "pairlight", "score", "qa-small", str(run.source), "--out", str(run.out)]
    # A slow driver: the command line has no jobs that take their time, so it is stopped after its first block.
    driver = subprocess.Popen([*command, "--cluster", nodes.address], stderr=subprocess.PIPE, text=True)
    when(lambda: run.finished >= 1, driver.kill).join()
    driver.communicate()
    finished = run.finished
    assert finished
    again = subprocess.run([*command, "--cluster", nodes.address, "--json"], capture_output=True, text=True, check=True)
    assert f'"rows": {FILES * ROWS}' in again.stdout
    run.check()


def test_a_slow_worker_does_not_hold_back_blocks_of_others(nodes, tmp_path):
    run = Run(tmp_path, seconds=3.0)
    run.job = StragglerJob("qa-small", str(run.out), seconds=3.0, attempts=str(run.attempts))
    nodes.add(2)
    run.on(nodes.address)
    run.check()
    assert len(run.pids) == FILES
    assert min(map(run.pids.count, set(run.pids))) < FILES / 3  # the slow worker had few of them


def test_a_row_that_kills_its_worker_is_found_and_the_rest_is_scored(nodes, tmp_path):
    run = Run(tmp_path, seconds=0.0)
    poisoned = write_table(tmp_path / "poisoned", FILES, ROWS, bad={100: "poison"})
    run.blocks = [replace(block, path=block.path.replace(str(run.source), str(poisoned))) for block in run.blocks]
    run.job = PoisonJob("qa-small", str(run.out), attempts=str(run.attempts))
    nodes.add(2)
    assert run.on(nodes.address).counts == {"rows": FILES * ROWS, "bad": 1}
    found, expected = pq.read_table(run.out), run.expected
    assert found.column_names == expected.column_names
    kept = [n for n in range(FILES * ROWS) if n != 100]
    assert found["n"].to_pylist() == kept
    assert np.allclose(found["score"].to_numpy(), expected["score"].to_numpy()[kept], rtol=1e-6, atol=1e-6)
    (bad,) = pq.read_table(run.out / "_bad").to_pylist()
    assert (bad["n"], bad["bad_row"]) == (100, 21)
    assert "its process ended" in bad["bad_reason"]


def test_bad_rows_go_to_a_side_file_and_the_rest_is_scored(nodes, tmp_path):
    run = Run(tmp_path, seconds=0.0, bad={3: "", 100: None, 101: "a\0b", 479: " "})
    nodes.add()
    report = run.on(nodes.address)
    run.check()
    assert report.counts == {"rows": FILES * ROWS, "bad": 4}
    bad = pq.read_table(run.out / "_bad").to_pylist()
    assert [row["n"] for row in bad] == [3, 100, 101, 479]
    assert [row["bad_row"] for row in bad] == [4, 21, 22, 40]
    assert "NUL" in bad[2]["bad_reason"]


def test_a_full_disk_is_one_line_and_the_job_continues_when_there_is_room(nodes, small_disk, tmp_path):
    run = Run(tmp_path, seconds=0.0)
    nodes.add()
    run.out = small_disk.folder / "out"
    run.job = replace(run.job, out=str(run.out))
    with pytest.raises(OSError, match="No space left on device") as full:
        run.on(nodes.address)
    assert full.value.errno == errno.ENOSPC
    assert 0 < run.finished < FILES
    small_disk.enlarge()
    assert run.on(nodes.address).resumed
    run.check()
    assert not [path for path in run.out.iterdir() if path.name.startswith(".")]  # nothing half written is left


def test_a_file_that_cannot_grow_is_one_line_and_the_job_continues_when_it_can(nodes, tmp_path):
    run = Run(tmp_path, seconds=0.0)
    nodes.add()
    full = tmp_path / "full"
    full.touch()
    run.job = FullDiskJob("qa-small", str(run.out), attempts=str(run.attempts), full=str(full))
    with pytest.raises(OSError, match="File too large"):
        run.on(nodes.address)
    assert 0 < run.finished < FILES
    full.unlink()
    assert run.on(nodes.address).resumed
    run.check()
    assert not [path for path in run.out.iterdir() if path.name.startswith(".")]  # nothing half written is left
