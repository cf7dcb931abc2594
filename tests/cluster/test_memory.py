"""Training and scoring with pairs that take more memory than any process uses."""

import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cluster.conftest import training_processes, worker_processes
from pairlight import Matcher

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]

FILES, LISTS, LENGTH = 16, 3_000, 20_000
TEXTS = 2 * FILES * LISTS * LENGTH  # bytes of all right texts, which are all different: 1.9 GB
LIMIT = 0.75 * TEXTS
TRAIN = ["--model", "mv-lstm", "--set", "hidden=2", "--set", "dim=4", "--set", "evidence=false", "--vectors", "none"]
TRAIN += ["--init", "none", "--epochs", "1", "--max-length", "4", "--batch", "256"]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory) -> Path:
    """Pairs with long right texts, of which a model reads the first words: they take memory and little time."""
    folder = tmp_path_factory.mktemp("large")
    rest = "and so on " * (LENGTH // 10)
    for number in range(FILES):
        at = range(number * LISTS, (number + 1) * LISTS)
        left = [f"topic{n % 100} {n}" for n in at for _ in range(2)]
        right = [f"topic{(n + 7 * wrong) % 100} {n} {wrong} {rest}" for n in at for wrong in (0, 1)]
        table = pa.table({"left": left, "right": right, "label": [1.0, 0.0] * LISTS})
        pq.write_table(table, folder / f"{number:03}.parquet")
    pq.write_table(table.slice(0, 200), folder.parent / "dev.parquet")
    return folder


def peaks(*arguments: object, others: Callable[[], list[int]] = list) -> list[int]:
    """Run a command, and return the bytes that it and each of the other processes used at most."""
    found: dict[int, int] = {}
    with subprocess.Popen([sys.executable, "-m", "pairlight", *map(str, arguments)]) as process:
        done = threading.Event()

        def watch() -> None:
            while not done.wait(0.1):
                for pid in [process.pid, *others()]:
                    with suppress(OSError, StopIteration):  # it has ended
                        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                        found[pid] = 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

        watcher = threading.Thread(target=watch)
        watcher.start()
        code = process.wait()
        done.set()
        watcher.join()
    assert not code
    return list(found.values())


def check_model(folder: Path) -> None:
    (epoch,) = Matcher.load(folder).history.epochs
    assert np.isfinite(epoch.loss)


def check_scores(folder: Path) -> None:
    assert sum(pq.read_metadata(path).num_rows for path in folder.glob("*.parquet")) == 2 * FILES * LISTS


def test_one_process_trains_and_scores_more_than_it_has_memory_for(pairs, tmp_path):
    dev, model, out = pairs.parent / "dev.parquet", tmp_path / "m", tmp_path / "out"
    (peak,) = peaks("train", pairs, "--dev", dev, "--out", model, "--threads", 1, *TRAIN)
    assert peak < LIMIT
    check_model(model)
    (peak,) = peaks("score", model, pairs, "--out", out, "--threads", 1)
    assert peak < LIMIT
    check_scores(out)


def test_two_workers_train_and_score_more_than_they_have_memory_for(nodes, pairs, tmp_path):
    node = nodes.add(2)
    dev, model, out, on = pairs.parent / "dev.parquet", tmp_path / "m", tmp_path / "out", ("--cluster", nodes.address)
    command = ("train", pairs, "--dev", dev, "--out", model, *TRAIN, "--workers", 2, *on)
    found = peaks(*command, others=lambda: training_processes(node))
    assert len(found) == 3  # the command and two workers
    assert max(found) < LIMIT
    check_model(model)
    found = peaks("score", model, pairs, "--out", out, *on, others=lambda: worker_processes(node, b"ray::_process"))
    assert len(found) == 3
    assert max(found) < LIMIT
    check_scores(out)
