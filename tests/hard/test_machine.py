"""A full disk, a read-only folder, a limit of file sizes, forks and threads: one clear line, or the same result."""

import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from cli.helpers import write_pairs
from hard.kills import SMALL
from pairlight import Matcher
from toy_pairs import overlap

PAIRS = overlap(30, seed=0)
OPTIONS = {"init": None, "progress": False, "baseline": False}
TEXTS = [(PAIRS.texts[i], PAIRS.texts[j]) for i, j in zip(PAIRS.left, PAIRS.right, strict=True)]


def pairlight(*arguments, **options):
    command = [sys.executable, "-m", "pairlight", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.hard
def test_a_limit_of_file_sizes_is_one_line_and_the_same_command_continues(tmp_path):
    """`ulimit -f`, which is like a disk that becomes full while the weights are written."""
    data = write_pairs(tmp_path / "pairs.tsv", PAIRS)
    train = ["train", data, *SMALL, "--epochs", "2", "--out", tmp_path / "model"]

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))

    done = pairlight(*train, preexec_fn=limited)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("pairlight: File too large")
    assert not (tmp_path / "model" / "config.json").exists()
    assert pairlight(*train).returncode == 0
    assert pairlight(*train[:-1], tmp_path / "other").returncode == 0
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("model", "other")]
    assert weights[0] == weights[1]


@pytest.mark.hard
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output_is_one_line():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "pairlight", "data", "list"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=100)
    assert done.returncode == 1
    assert done.stderr.startswith("pairlight: Standard output cannot be written (No space left on device)")
    assert done.stderr.count("\n") == 1


@pytest.mark.hard
@pytest.mark.skipif(shutil.which("chattr") is None and os.geteuid() == 0, reason="root may write to any folder")
def test_a_read_only_folder_is_one_line_before_anything_is_computed(tmp_path):
    data = write_pairs(tmp_path / "pairs.tsv", PAIRS)
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o500)
    if os.access(locked, os.W_OK):
        pytest.skip("this user may write to any folder")
    done = pairlight("train", data, *SMALL, "--out", locked / "model")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("pairlight: Permission denied")


PREDICT_AND_FORK = """
import multiprocessing, os, sys
import torch
from pairlight import Matcher

def score(texts):
    return matcher.predict(texts).tolist()

torch.set_num_threads(2)
matcher = Matcher.load(sys.argv[1])
texts = [("bama delo " * 20 + str(i), "delo kiru " * 20) for i in range(600)]
expected = score(texts)
x = torch.randn(600, 600)
(x @ x).sum()  # starts the threads of PyTorch
with multiprocessing.get_context("fork").Pool(2) as pool:
    for found in pool.map_async(score, [texts, texts]).get(timeout=60):
        assert found == expected, "other scores"
children = []
for _ in range(2):  # as gunicorn does with a preloaded application
    child = os.fork()
    if child == 0:
        os._exit(0 if score(texts) == expected and float((x @ x).sum()) == float((x @ x).sum()) else 1)
    children.append(child)
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
print("the same")
"""


def test_a_process_that_is_forked_after_predicting_with_threads_gives_the_same_scores(tmp_path):
    Matcher("mv-lstm", hidden=3, k=2, dim=4).fit(PAIRS, PAIRS, vectors="none", epochs=1, **OPTIONS).save(tmp_path)
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", PREDICT_AND_FORK, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.strip() == "the same", done.stderr
    assert "parallelism" not in done.stderr


def _score_in_process(folder, texts):
    return Matcher.load(folder).predict(texts).tolist()


@pytest.mark.hard
def test_a_spawned_process_gives_the_same_scores(tmp_path):
    matcher = Matcher("mv-lstm", hidden=3, k=2, dim=4).fit(PAIRS, PAIRS, vectors="none", epochs=1, **OPTIONS)
    matcher.save(tmp_path)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply_async(_score_in_process, (tmp_path, TEXTS)).get(timeout=120)
    np.testing.assert_allclose(found, matcher.predict(TEXTS), atol=1e-6)


def test_a_thread_that_predicts_while_another_trains_gets_scores_of_a_whole_model():
    matcher = Matcher("mv-lstm", hidden=3, k=2, dim=4).fit(PAIRS, PAIRS, vectors="none", epochs=1, **OPTIONS)
    before = [matcher.predict(TEXTS).tolist(), matcher.predict(TEXTS, as_probability=True).tolist()]
    found, faults, stop = [], [], threading.Event()

    def predict():
        while not stop.is_set():
            try:
                found.append(matcher.predict(TEXTS).tolist())
                found.append(matcher.predict(TEXTS, as_probability=True).tolist())
            except Exception as error:
                faults.append(error)
                return

    threads = [threading.Thread(target=predict) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        matcher.fit(PAIRS, PAIRS, vectors="none", epochs=3, seed=2, lr=0.1, **OPTIONS)
        time.sleep(0.2)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    after = [matcher.predict(TEXTS).tolist(), matcher.predict(TEXTS, as_probability=True).tolist()]
    assert not faults
    assert before[0] != after[0]
    assert all(each in before or each in after for each in found)


ORPHANS = """
import sys, time
from pathlib import Path
from pairlight.experiments.executor import ProcessExecutor
from pairlight.experiments.spec import RunSpec
from hard.test_machine import sleep

if __name__ == "__main__":
    specs = [RunSpec("random", 1, {}, {})]
    for each in ProcessExecutor(1).submit(specs, sleep, {}):
        print(each)
"""


def sleep(spec, splits):
    print(f"worker {os.getpid()}", flush=True)
    time.sleep(300)


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.hard)])
def test_workers_end_with_their_parent(tmp_path, number):
    script = tmp_path / "orphans.py"
    script.write_text(ORPHANS)
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    environment = {**os.environ, "PYTHONPATH": tests}
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        worker = int(parent.stdout.readline().split()[1])
        parent.send_signal(number)
        parent.wait()
        for _ in range(200):
            try:
                os.kill(worker, 0)
            except ProcessLookupError:
                return
            with open(f"/proc/{worker}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":  # ended, and not collected by anyone here
                    return
            time.sleep(0.1)
    pytest.fail("the worker is still running")
