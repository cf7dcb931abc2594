"""Scoring in blocks on one machine: all columns, every row once, bad rows aside, and resumable."""

import json
import os
import signal
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cluster.jobs import write_table
from pairlight import InputError, Matcher
from pairlight.batch.job import finish_block, load_matcher, run_here, run_job
from pairlight.batch.score import ScoreJob
from pairlight.core.folders import LOCK, locked_folder
from pairlight.core.progress import ProgressReporter
from pairlight.core.storage import delete_folder, find_files, open_file
from pairlight.data.blocks import blocks_digest, plan_blocks, read_block
from pairlight.data.collection import read_collection
from pairlight.data.columns import Column, TableColumns
from pairlight.data.readers import PairsAndTables


def planned(source, rows=100_000):
    return plan_blocks(str(source), TableColumns([Column("left", "left"), Column("right", "right")]), rows)


def run(job, blocks, runner=run_here):
    return run_job(job, blocks, runner, ProgressReporter())


def test_every_row_is_scored_once_and_all_columns_are_kept(tmp_path):
    source = write_table(tmp_path / "in", 3, 20)
    report = run(ScoreJob("qa-small", str(tmp_path / "out"), probability=True), planned(source))
    found, given = pq.read_table(tmp_path / "out"), pq.read_table(source)
    assert found.column_names == ["n", "left", "right", "score", "probability"]
    assert found.select(["n", "left", "right"]).equals(given)
    pairs = list(zip(given["left"].to_pylist(), given["right"].to_pylist(), strict=True))
    matcher = load_matcher("qa-small")
    np.testing.assert_allclose(found["score"].to_numpy(), matcher.predict(pairs), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found["probability"].to_numpy(), matcher.predict(pairs, as_probability=True), atol=1e-6)
    assert report.counts == {"rows": 60, "bad": 0}


def test_bad_rows_are_written_with_their_numbers_and_reasons(tmp_path):
    source = write_table(tmp_path / "in", 2, 8, bad={1: None, 8: "  "})
    report = run(ScoreJob("qa-small", str(tmp_path / "out")), planned(source))
    assert report.counts == {"rows": 16, "bad": 2}
    assert len(pq.read_table(tmp_path / "out")) == 14
    bad = pq.read_table(tmp_path / "out" / "_bad").to_pylist()
    assert [(row["n"], row["bad_row"]) for row in bad] == [(1, 2), (8, 1)]
    assert "is not a string" in bad[0]["bad_reason"]
    assert "is empty" in bad[1]["bad_reason"]


def test_values_that_python_cannot_have_are_bad_rows(tmp_path):
    offsets = pa.py_buffer(b"\0\0\0\0\2\0\0\0\3\0\0\0")
    texts = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfea")])
    dates = pa.array([2**40, 1], pa.int64()).cast(pa.timestamp("s"))
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"left": texts, "right": ["b", "b"]}), tmp_path / "in" / "a.parquet")
    report = run(ScoreJob("qa-small", str(tmp_path / "out")), planned(tmp_path / "in"))
    assert report.counts == {"rows": 2, "bad": 1}
    (reason,) = pq.read_table(tmp_path / "out" / "_bad")["bad_reason"].to_pylist()
    assert reason.startswith(r"the left text b'\xff\xfe' is not a string")
    pq.write_table(pa.table({"left": ["a", "a"], "right": dates}), tmp_path / "in" / "a.parquet")
    report = run(ScoreJob("qa-small", str(tmp_path / "dates")), planned(tmp_path / "in"))
    assert report.counts == {"rows": 2, "bad": 2}


def test_a_damaged_marker_costs_its_block_and_a_damaged_job_is_named(tmp_path):
    source = write_table(tmp_path / "in", 2, 8)
    job = ScoreJob("qa-small", str(tmp_path / "out"))
    expected = run(job, planned(source))
    marker = tmp_path / "out" / "_done" / "part-000001.json"
    content = marker.read_bytes()
    for damaged in (b"", b"{", b"[]", content.replace(b'"rows": 8', b'"rows": 9'), b"\xff" + content):
        marker.write_bytes(damaged)
        with pytest.warns(UserWarning, match=r"part-000001\.json .*: its block is processed again"):
            report = run(job, planned(source))
        assert report == replace(expected, resumed=1)
        assert marker.read_bytes() == content
    path = tmp_path / "out" / "_job.json"
    for damaged in (b"", b"[]", path.read_bytes().replace(b'"score"', b'"scare"')):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"_job\.json .*: delete it if the files there are of the same job"):
            run(job, planned(source))


def test_a_second_job_is_refused_while_the_first_is_running(tmp_path):
    source = write_table(tmp_path / "in", 1, 4)
    job = ScoreJob("qa-small", str(tmp_path / "out"))
    with locked_folder(tmp_path / "out"), pytest.raises(InputError, match=r"Another run is writing to .*out"):
        run(job, planned(source))
    assert not (tmp_path / "out").exists()  # nothing was written
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / LOCK).write_text("1 new")  # of a job that was killed
    assert run(job, planned(source)).counts["rows"] == 4
    assert not (tmp_path / "out" / LOCK).exists()


def test_a_small_file_with_a_long_text_in_every_row_takes_bounded_memory(tmp_path):
    """312 kB of Parquet took more than 10 GB."""
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 800, pa.int32()), pa.array(["bama delo " * 50_000]))
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"left": long, "right": ["a"] * 800}), tmp_path / "in" / "a.parquet")  # 400 MB of texts
    (block,) = planned(tmp_path / "in")
    before = pa.total_allocated_bytes()
    for table in read_block(block):
        assert table.nbytes < 200_000_000
        assert pa.total_allocated_bytes() - before < 500_000_000
    parts = [len(pairs) for pairs, _ in PairsAndTables(tmp_path / "in" / "a.parquet", rows=100_000)]
    assert sum(parts) == 800
    assert max(parts) < 500
    assert len(set(map(id, read_collection(tmp_path / "in" / "a.parquet", text="left").texts))) == 1
    pq.write_table(pa.table({"left": ["a" * 301_000_000], "right": ["a"]}), tmp_path / "in" / "a.parquet")
    with pytest.raises(InputError, match="has 1 rows of more than 300,000,000 bytes: divide their texts"):
        list(read_block(planned(tmp_path / "in")[0]))


def test_a_row_that_the_model_fails_on_is_set_aside(tmp_path, monkeypatch):
    predict = Matcher.predict

    def fails_on_poison(self, pairs, **options):
        if any("poison" in text for text in pairs.texts):
            raise RuntimeError("no such luck")
        return predict(self, pairs, **options)

    source = write_table(tmp_path / "in", 1, 20, bad={13: "poison"})
    monkeypatch.setattr(Matcher, "predict", fails_on_poison)
    report = run(ScoreJob("qa-small", str(tmp_path / "out")), planned(source))
    assert report.counts == {"rows": 20, "bad": 1}
    assert pq.read_table(tmp_path / "out")["n"].to_pylist() == [n for n in range(20) if n != 13]
    (bad,) = pq.read_table(tmp_path / "out" / "_bad").to_pylist()
    assert (bad["n"], bad["bad_reason"]) == (13, "the model fails on it (RuntimeError: no such luck).")


@dataclass(frozen=True)
class FatalJob(ScoreJob):
    """The process ends where a text is `poison`."""

    def predict(self, matcher, pairs):
        if "poison" in pairs.texts:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().predict(matcher, pairs)


def test_a_careful_job_finds_the_row_that_ends_its_process(tmp_path):
    blocks = planned(write_table(tmp_path / "in", 1, 20, bad={13: "poison"}))
    job = FatalJob("qa-small", str(tmp_path / "out"))
    assert job.open(careful=True)(blocks[0]) == {"rows": 20, "bad": 1}
    assert pq.read_table(tmp_path / "out")["n"].to_pylist() == [n for n in range(20) if n != 13]
    (bad,) = pq.read_table(tmp_path / "out" / "_bad").to_pylist()
    assert (bad["n"], bad["bad_row"]) == (13, 14)
    assert "its process ended with exit code -9" in bad["bad_reason"]


def test_blocks_are_row_groups_and_do_not_change_scores(tmp_path):
    table = pq.read_table(write_table(tmp_path / "in", 1, 40))
    source = tmp_path / "groups.parquet"
    pq.write_table(table, source, row_group_size=7)
    blocks = planned(source, rows=15)
    assert [(block.start, block.rows, block.groups) for block in blocks] == [(0, 14, 2), (14, 14, 2), (28, 12, 2)]
    run(ScoreJob("qa-small", str(tmp_path / "blocks")), blocks)
    run(ScoreJob("qa-small", str(tmp_path / "whole")), planned(source))
    found, whole = (pq.read_table(tmp_path / name) for name in ("blocks", "whole"))
    assert found["n"].equals(whole["n"])
    np.testing.assert_allclose(found["score"].to_numpy(), whole["score"].to_numpy(), rtol=1e-6, atol=1e-6)


def test_a_job_that_was_stopped_continues_and_does_not_repeat_finished_blocks(tmp_path):
    blocks = planned(write_table(tmp_path / "in", 4, 8))
    job = ScoreJob("qa-small", str(tmp_path / "out"))
    processed = []

    def stops_after_two(job, blocks):
        process = job.open()
        for block in blocks[:2]:
            processed.append(block.number)
            yield finish_block(job, process, block)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(job, blocks, stops_after_two)
    kept = (tmp_path / "out" / "part-000000.parquet").stat().st_mtime_ns
    report = run(job, blocks)
    assert (report.resumed, report.counts["rows"]) == (2, 32)
    assert (tmp_path / "out" / "part-000000.parquet").stat().st_mtime_ns == kept
    assert pq.read_table(tmp_path / "out")["n"].to_pylist() == list(range(32))


def test_a_block_without_its_marker_is_written_again(tmp_path):
    blocks = planned(write_table(tmp_path / "in", 2, 8))
    job = ScoreJob("qa-small", str(tmp_path / "out"))
    run(job, blocks)
    (tmp_path / "out" / "_done" / "part-000001.json").unlink()
    (tmp_path / "out" / "part-000001.parquet").write_bytes(b"damaged")
    run(job, blocks)
    assert pq.read_table(tmp_path / "out")["n"].to_pylist() == list(range(16))


def test_another_job_does_not_continue_in_the_folder(tmp_path):
    blocks = planned(write_table(tmp_path / "in", 2, 8))
    job = ScoreJob("qa-small", str(tmp_path / "out"))
    run(job, blocks)
    for other, changed in ((replace(job, model="sim-small"), "model"), (replace(job, probability=True), "probability")):
        with pytest.raises(InputError, match=f"another job .its {changed} differ"):
            run(other, blocks)
    with pytest.raises(InputError, match="result of other input: a file was added, removed or written again since"):
        run(job, blocks[:1])


def swap_case(path):
    """Write the file again with other texts, as many and as long as before."""
    table = pq.read_table(path)
    texts = pa.array([text.swapcase() for text in table["right"].to_pylist()])
    pq.write_table(table.set_column(2, "right", texts), path)


def test_a_job_is_not_continued_after_a_file_was_replaced_by_one_with_as_many_rows(tmp_path):
    source = write_table(tmp_path / "in", 2, 8)
    job = ScoreJob("qa-small", str(tmp_path / "out"))
    run(job, planned(source))
    assert run(job, planned(source)).resumed == 2
    swap_case(source / "001.parquet")
    with pytest.raises(InputError, match=r"written again since\. Choose another folder"):
        run(job, planned(source))


def test_a_file_under_a_url_that_was_replaced_is_noticed(tmp_path):
    filesystem = pytest.importorskip("fsspec").filesystem("memory")
    path = write_table(tmp_path / "in", 1, 8) / "000.parquet"
    try:
        filesystem.put_file(str(path), "/bucket/in/000.parquet")
        first, again = (blocks_digest(planned("memory://bucket/in")) for _ in range(2))
        swap_case(path)
        filesystem.put_file(str(path), "/bucket/in/000.parquet")
        assert first == again != blocks_digest(planned("memory://bucket/in"))
    finally:
        delete_folder("memory://bucket")


def test_a_folder_with_something_else_is_refused(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").touch()
    with pytest.raises(InputError, match="not empty"):
        run(ScoreJob("qa-small", str(tmp_path / "out")), planned(write_table(tmp_path / "in", 1, 8)))


def test_pairs_are_read_from_urls_and_scores_written_to_them(tmp_path):
    pytest.importorskip("fsspec")
    from fsspec import filesystem

    source = write_table(tmp_path / "in", 2, 8)
    filesystem("memory").put(str(source), "/bucket/in", recursive=True)
    try:
        run(ScoreJob("qa-small", "memory://bucket/out"), planned("memory://bucket/in"))
        files = find_files("memory://bucket/out", ".parquet")
        assert [path.rsplit("/", 1)[-1] for path in files] == ["part-000000.parquet", "part-000001.parquet"]
        with open_file(files[1]) as file:
            assert pq.read_table(file)["n"].to_pylist() == list(range(8, 16))
    finally:
        delete_folder("memory://bucket")


def test_files_must_have_the_columns_and_rows(tmp_path):
    source = write_table(tmp_path / "in", 1, 8)
    pq.write_table(pa.table({"left": ["a"]}), source / "other.parquet")
    with pytest.raises(InputError, match="has no column 'right'"):
        planned(source)
    with pytest.raises(InputError, match="no Parquet file in"):
        planned(tmp_path / "missing")


def test_the_command_scores_a_folder(tmp_path, monkeypatch, capsys):
    from pairlight import cli

    source = write_table(tmp_path / "in", 2, 8, bad={0: ""})
    monkeypatch.setattr(
        "sys.argv", ["pairlight", "score", "qa-small", str(source), "--out", str(tmp_path / "out"), "--json"]
    )
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert not stopped.value.code
    assert json.loads(capsys.readouterr().out) == {
        "out": str(tmp_path / "out"),
        "blocks": 2,
        "resumed": 0,
        "rows": 15,
        "bad": 1,
    }
