"""Encoding and indexing on Ray while a node is lost, and the commands that do it."""

import json
import multiprocessing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cluster.conftest import files_in, is_in_a_block, pairlight
from cluster.jobs import SlowEncodeJob, SlowIndexJob
from pairlight import Index
from pairlight.batch.index import IndexJob, index_columns, join_shards
from pairlight.batch.job import run_here, run_job
from pairlight.cluster.blocks import ray_runner
from pairlight.core.progress import ProgressReporter
from pairlight.data.blocks import plan_blocks
from toy_pairs import overlap

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]

FILES = 8
TEXTS = overlap(40, seed=0).texts


@pytest.fixture
def source(tmp_path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in range(FILES):
        at = range(number, len(TEXTS), FILES)
        table = {"id": [f"d{i}" for i in at], "text": [TEXTS[i] for i in at]}
        pq.write_table(pa.table(table), folder / f"{number}.parquet")
    return folder


def run(job, blocks, runner):
    return run_job(job, blocks, runner, ProgressReporter())


def with_a_lost_node(nodes, when, job, blocks) -> int:
    """Run the job while a node is killed; returns the number of attempts."""
    first, _ = nodes.add(), nodes.add()
    attempts, done = Path(job.attempts), Path(job.out, "_done")
    killer = when(lambda: files_in(done) >= 2 and is_in_a_block(first, attempts, done), lambda: nodes.kill(first))
    report = run(job, blocks, ray_runner(nodes.address))
    killer.join()
    assert report.counts == {"rows": len(TEXTS), "bad": 0}
    return files_in(attempts)


def test_encodings_are_those_of_one_process_when_a_node_is_lost(nodes, when, source, tmp_path):
    (tmp_path / "attempts").mkdir()
    blocks = plan_blocks(str(source), index_columns("text", "id", "title"))
    given = {"dtype": "int8", "text": "text", "id": "id", "attempts": str(tmp_path / "attempts")}
    run(SlowEncodeJob("qa-small", str(tmp_path / "here"), **given), blocks, run_here)
    job = SlowEncodeJob("qa-small", str(tmp_path / "ray"), **given, seconds=2.0)
    attempts = with_a_lost_node(nodes, when, job, blocks)
    assert FILES < attempts - FILES <= FILES + 2  # those of one process, and one or two that were lost
    for block in blocks:
        made, expected = (tmp_path / name / f"{block.name}.encodings" for name in ("ray", "here"))
        assert made.read_bytes() == expected.read_bytes()


def test_shards_are_those_of_one_process_when_a_node_is_lost_and_each_is_searched_by_a_process(
    nodes, when, source, tmp_path
):
    pytest.importorskip("tantivy")
    (tmp_path / "attempts").mkdir()
    blocks = plan_blocks(str(source), index_columns("text", "id", "title"))
    given = ("hybrid", "en", "text", "id", None)
    here = IndexJob(str(tmp_path / "here"), *given)
    run(here, blocks, run_here)
    job = SlowIndexJob(str(tmp_path / "ray"), *given, seconds=2.0, attempts=str(tmp_path / "attempts"))
    assert FILES < with_a_lost_node(nodes, when, job, blocks) <= FILES + 2
    for each in (here, job):
        join_shards(each.out, blocks, each, "qa-small")
    with Index.open(tmp_path / "ray") as made, Index.open(tmp_path / "here") as expected:
        assert len(made) == len(TEXTS)
        found, wanted = (
            [[(hit.id, hit.score) for hit in index.search(query, top=5)] for query in TEXTS[:5]]
            for index in (made, expected)
        )
        assert found == wanted
        assert [hits[0][0] for hits in found] == [f"d{i}" for i in range(5)]
        assert len({shard.process.pid for shard in made.shards.shards}) == FILES
        assert len(multiprocessing.active_children()) == 2 * FILES


def test_the_commands_encode_index_and_check_run_on_a_cluster(nodes, source, tmp_path):
    pytest.importorskip("tantivy")
    nodes.add(2)
    on = ("--cluster", nodes.address)
    assert f"Encoded {len(TEXTS)} texts" in pairlight("encode", "qa-small", source, "--out", tmp_path / "e", *on)
    ranked = json.loads(pairlight("rank", "qa-small", TEXTS[3], "--encoded", tmp_path / "e", "--json"))
    assert "d3" in json.dumps(ranked)
    said = pairlight("index", source, "--out", tmp_path / "i", *on)
    assert f"Indexed {len(TEXTS)} documents" in said
    assert f"in {FILES} shards" in said
    assert "d3" in pairlight("search", tmp_path / "i", TEXTS[3], "--json")
    checked = json.loads(pairlight("cluster", "check", *on, "--json"))
    assert checked["faults"] == {}
    assert checked["jobs"] == ["score", "encode", "index", "compare", "tune", "train"]
    (node,) = checked["nodes"]
    assert (node["cpus"], node["faults"]) == (2.0, [])
