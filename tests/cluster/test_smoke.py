"""A tiny job on a local Ray, where it is installed."""

import pyarrow.parquet as pq
import pytest

from cluster.jobs import write_table
from pairlight.batch.job import run_here, run_job
from pairlight.batch.score import ScoreJob
from pairlight.core.progress import ProgressReporter
from pairlight.data.blocks import plan_blocks
from pairlight.data.columns import Column, TableColumns

pytest.importorskip("ray", reason="the extra cluster is not installed")


@pytest.mark.filterwarnings("ignore")
def test_a_local_cluster_scores_as_this_process_does(tmp_path):
    from pairlight.cluster.blocks import ray_runner

    source = write_table(tmp_path / "in", 2, 8)
    blocks = plan_blocks(str(source), TableColumns([Column("left", "left"), Column("right", "right")]))
    for name, runner in (("here", run_here), ("ray", ray_runner("auto"))):
        run_job(ScoreJob("qa-small", str(tmp_path / name)), blocks, runner, ProgressReporter())
    assert pq.read_table(tmp_path / "ray").equals(pq.read_table(tmp_path / "here"))
