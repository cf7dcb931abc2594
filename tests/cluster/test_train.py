"""Training by several workers: the same weights every time, also after a worker, a node or the driver was lost."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from cli.helpers import write_pairs
from cluster.conftest import pairlight, training_processes, worker_processes
from pairlight import Matcher
from pairlight.cluster.train import ClusterTraining, train_on_cluster
from pairlight.core.errors import InputError
from pairlight.data.pair_blocks import PairBlocks, write_pair_blocks
from pairlight.training.checkpoint import read_checkpoint
from pairlight.training.loop import CHECKPOINT
from toy_pairs import marked

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]

SETTINGS = {"hidden": 4, "k": 3, "dim": 6, "evidence": False}
OPTIONS = {"vectors": "none", "epochs": 3, "lr": 0.02, "patience": 0, "freeze": False, "optimizer": "adagrad"}
DEV = marked(10, seed=5)


def training(folder: Path, **given) -> ClusterTraining:
    source = write_pair_blocks(marked(120, seed=0), str(folder / "pairs"))
    values = {"options": OPTIONS, "source": source, "settings": SETTINGS} | given
    return ClusterTraining("mv-lstm", init=None, dev=DEV, folder=str(folder), **values)


def trained(folder: Path, address: str, workers: int = 2, resume: bool = False, **given) -> Matcher:
    train_on_cluster(training(folder, **given), address, workers, resume, folder / "trained")
    return Matcher.load(folder / "trained")


def same(a: Matcher, b: Matcher) -> bool:
    a, b = (each.scorer.model.state_dict() for each in (a, b))
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_two_workers_give_the_same_weights_again_and_after_a_worker_was_killed(nodes, when, tmp_path):
    node = nodes.add(2)
    first = trained(tmp_path / "a", nodes.address)
    assert len({each.loss for each in first.history.epochs}) == 3  # it trains
    checkpoint = tmp_path / "b" / "checkpoint.safetensors"
    killed: list[int] = []

    def kill() -> None:
        killed.extend(training_processes(node)[:1])
        os.kill(killed[0], signal.SIGKILL)

    killer = when(checkpoint.exists, kill)
    second = trained(tmp_path / "b", nodes.address)
    killer.join()
    assert killed
    assert same(first, second)
    assert [each.loss for each in first.history.epochs] == [each.loss for each in second.history.epochs]


def test_a_lost_node_is_replaced_and_training_ends_with_the_same_weights(nodes, when, tmp_path):
    lost, _ = nodes.add(), nodes.add()
    checkpoint = tmp_path / "a" / "checkpoint.safetensors"

    def replace() -> None:
        nodes.kill(lost)
        nodes.add()

    killer = when(checkpoint.exists, replace)
    first = trained(tmp_path / "a", nodes.address)
    killer.join()
    assert same(first, trained(tmp_path / "b", nodes.address))


def test_a_training_whose_driver_was_killed_continues_to_the_same_weights_or_with_another_number_of_workers(
    nodes, when, tmp_path
):
    nodes.add(2)
    pairs = write_pairs(tmp_path / "pairs.tsv", marked(120, seed=0))
    dev = write_pairs(tmp_path / "dev.tsv", DEV)

    def command(run: Path, workers: int, *more: object) -> list[str]:
        given = ["train", pairs, "--dev", dev, "--out", run / "m", "--checkpoints", f"file://{run}/shared"]
        given += ["--model", "mv-lstm", "--set", "hidden=4", "--set", "dim=6", "--vectors", "none", "--epochs", 6]
        return list(map(str, [*given, "--patience", 0, "--cluster", nodes.address, "--workers", workers, *more]))

    stopped, copy, whole = (tmp_path / name for name in ("stopped", "copy", "whole"))
    python = [sys.executable, "-m", "pairlight"]
    driver = subprocess.Popen([*python, *command(stopped, 2)], stderr=subprocess.DEVNULL)
    when((stopped / "shared" / CHECKPOINT).exists, driver.kill).join()
    assert driver.wait() == -signal.SIGKILL
    (copy / "shared").mkdir(parents=True)
    shutil.copy(stopped / "shared" / CHECKPOINT, copy / "shared")
    assert len(read_checkpoint(copy / "shared" / CHECKPOINT).history.epochs) < 6
    done = subprocess.run([*python, *command(stopped, 2, "--resume")], capture_output=True, text=True, check=True)
    assert "Saved to" in done.stdout
    assert done.stderr.count("Building the vocabulary.") == 1
    assert "PlacementGroupCleaner" not in done.stderr
    assert not (stopped / "shared" / CHECKPOINT).exists()
    pairlight(*command(whole, 2))
    resumed, expected = (Matcher.load(run / "m") for run in (stopped, whole))
    assert same(resumed, expected)
    assert [each.loss for each in resumed.history.epochs] == [each.loss for each in expected.history.epochs]
    pairlight(*command(copy, 1, "--resume"))
    assert len(Matcher.load(copy / "m").history.epochs) == 6
    assert not worker_processes(nodes.cluster.head_node, b"PlacementGroup")  # one would stay for every killed driver


def test_bad_input_of_a_worker_is_one_clear_line(nodes, tmp_path):
    nodes.add(2)
    source = write_pair_blocks(marked(20, seed=0), str(tmp_path / "pairs"))
    bad = PairBlocks(source.blocks, {**source.columns, "right": "label"})
    with pytest.raises(InputError, match="is not a string"):
        trained(tmp_path / "a", nodes.address, source=bad)
    with pytest.raises(InputError, match="3 workers need as many CPUs, and the cluster has 2"):
        trained(tmp_path / "b", nodes.address, workers=3)
