"""Training and scoring with pairs that take more memory than any process uses."""

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cluster.conftest import pairlight, training_processes
from pairlight import Matcher

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]

FILES, LISTS, LENGTH = 64, 12_500, 600  # 2 GB of text
TRAIN = ["--model", "mv-lstm", "--set", "hidden=2", "--set", "dim=4", "--set", "evidence=false", "--vectors", "none"]
TRAIN += ["--init", "none", "--epochs", "1", "--max-length", "4", "--batch", "256"]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory) -> Path:
    """Pairs of texts with a long word each, which takes memory and little time."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    words = ["".join(map(chr, row)) for row in rng.integers(97, 123, (997, LENGTH))]
    for number in range(FILES):
        at = range(number * LISTS, (number + 1) * LISTS)
        left = [f"topic{n % 100} {n} {words[n % 997]}" for n in at for _ in range(2)]
        right = [f"topic{(n + 7 * wrong) % 100} {n} {words[(n + wrong) % 991]}" for n in at for wrong in (0, 1)]
        table = pa.table({"left": left, "right": right, "label": [1.0, 0.0] * LISTS})
        pq.write_table(table, folder / f"{number:03}.parquet")
    pq.write_table(table.slice(0, 2000), folder.parent / "dev.parquet")
    return folder


def size_of(pairs: Path) -> int:
    """The bytes of all texts."""
    return FILES * pq.read_table(pairs / "000.parquet").nbytes


def peak_memory(*arguments: object) -> int:
    """Run a command, and return the bytes of memory that it used at most."""
    process = subprocess.Popen([sys.executable, "-m", "pairlight", *map(str, arguments)])
    _, status, usage = os.wait4(process.pid, 0)
    assert not status
    return 1024 * usage.ru_maxrss


def test_one_process_trains_and_scores_more_than_it_has_memory_for(pairs, tmp_path):
    dev, model = pairs.parent / "dev.parquet", tmp_path / "m"
    assert peak_memory("train", pairs, "--dev", dev, "--out", model, "--threads", 1, *TRAIN) < 0.75 * size_of(pairs)
    (epoch,) = Matcher.load(model).history.epochs
    assert np.isfinite(epoch.loss)
    assert peak_memory("score", model, pairs, "--out", tmp_path / "out", "--threads", 1) < 0.5 * size_of(pairs)
    assert sum(pq.read_metadata(path).num_rows for path in (tmp_path / "out").glob("*.parquet")) == 2 * FILES * LISTS


def test_no_worker_of_a_training_holds_all_pairs(nodes, pairs, tmp_path):
    node, peaks, done = nodes.add(2), dict[int, int](), threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            for pid in training_processes(node):
                with suppress(OSError, StopIteration):  # it has ended
                    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                    peaks[pid] = 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    dev = pairs.parent / "dev.parquet"
    try:
        pairlight("train", pairs, "--dev", dev, "--out", tmp_path, *TRAIN, "--workers", 2, "--cluster", nodes.address)
    finally:
        done.set()
        watcher.join()
    assert len(peaks) == 2
    assert max(peaks.values()) < 0.75 * size_of(pairs)
    assert len(Matcher.load(tmp_path).history.epochs) == 1
