"""Scoring, encoding, comparing, tuning and training while the object store of every node is full."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from cluster.conftest import OBJECT_STORE
from cluster.jobs import FullStore, write_table
from experiments.work import answer
from pairlight import Matcher
from pairlight.batch.encode import EncodeJob
from pairlight.batch.job import run_here, run_job
from pairlight.batch.score import ScoreJob
from pairlight.cluster.blocks import ray_runner
from pairlight.cluster.executor import RayExecutor
from pairlight.cluster.train import ClusterTraining, train_on_cluster
from pairlight.cluster.tune import ray_search
from pairlight.core.progress import ProgressReporter
from pairlight.data.blocks import plan_blocks
from pairlight.data.columns import Column, TableColumns
from pairlight.data.pair_blocks import write_pair_blocks
from pairlight.experiments.compare import complete_splits
from pairlight.experiments.executor import SerialExecutor
from pairlight.experiments.spec import RunSpec
from pairlight.experiments.tune import tune
from pairlight.training.trainer import train
from toy_pairs import marked, overlap

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]

SETTINGS = {"hidden": 4, "k": 3, "dim": 6, "evidence": False}
OPTIONS = {"vectors": "none", "epochs": 2, "lr": 0.02}


def test_full_object_stores_stop_no_kind_of_job(nodes, tmp_path):
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes.add(2)
    ray.init(address=nodes.address, logging_level="ERROR")
    stores = []
    for node in ray.nodes():  # more than each of them holds: Ray has to write objects to disk
        place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        stores.append(ray.remote(num_cpus=0, scheduling_strategy=place)(FullStore).remote(2 * OBJECT_STORE))

    def are_full() -> bool:
        return ray.get([store.size.remote() for store in stores]) == [2 * OBJECT_STORE] * 2

    assert are_full()

    pairs = write_table(tmp_path / "pairs", 4, 40)
    for name, kind, columns in (("score", ScoreJob, ("left", "right")), ("encode", EncodeJob, ("text",))):
        source = pairs
        if kind is EncodeJob:
            source = tmp_path / "texts"
            source.mkdir()
            pq.write_table(pa.table({"text": overlap(20, seed=0).texts}), source / "0.parquet")
        blocks = plan_blocks(str(source), TableColumns([Column(column, column) for column in columns]))
        here, on_ray = tmp_path / f"{name}-here", tmp_path / f"{name}-ray"
        run_job(kind("qa-small", str(here)), blocks, run_here, ProgressReporter())
        run_job(kind("qa-small", str(on_ray)), blocks, ray_runner(nodes.address), ProgressReporter())
        made = sorted(path.name for path in here.glob("part-*"))
        assert len(made) == len(blocks)
        assert [(on_ray / each).read_bytes() for each in made] == [(here / each).read_bytes() for each in made]
    assert are_full()

    splits = complete_splits(overlap(3000, seed=0))  # too large to be sent without the object store
    specs = [RunSpec("mv-lstm", seed, {}, {}) for seed in (1, 2, 3)]
    found = {run.spec.seed: run.result.pairs for run in RayExecutor(nodes.address).submit(specs, answer, splits)}
    assert found == {run.spec.seed: run.result.pairs for run in SerialExecutor().submit(specs, answer, splits)}
    assert are_full()

    choices = {"hidden": ["2", "3"], "dim": ["4"]}
    given = {"trials": 2, "choices": choices, "options": {"vectors": "none", "epochs": 1}}
    out = tmp_path / "tuned"
    train_pairs, dev = overlap(400, seed=0), overlap(10, seed=1)
    assert tune(train_pairs, dev, "mv-lstm", out, search=ray_search(nodes.address, out), **given).trials == 2
    assert are_full()

    folder = tmp_path / "training"
    source, dev = write_pair_blocks(marked(60, seed=0), str(folder / "pairs")), marked(1500, seed=5)
    training = ClusterTraining("mv-lstm", SETTINGS, OPTIONS, None, source, dev, str(folder))
    train_on_cluster(training, nodes.address, workers=1, resume=False, out=folder / "trained")
    torch.set_num_threads(1)
    expected = train("mv-lstm", source, dev, settings=SETTINGS, options=OPTIONS, init=None).trained.model.state_dict()
    trained = Matcher.load(folder / "trained").scorer.model.state_dict()
    assert all(torch.equal(trained[name], expected[name]) for name in expected)
    assert are_full()
