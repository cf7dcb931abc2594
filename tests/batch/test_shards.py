"""Encodings and indexes in shards give what a single one gives."""

import multiprocessing
import shutil
from multiprocessing.connection import Connection

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pairlight import Encodings, Index, InputError, Matcher
from pairlight.batch import index as batch_index
from pairlight.batch.encode import EncodeJob, rank_encoded
from pairlight.batch.job import run_here, run_job
from pairlight.core.progress import ProgressReporter
from pairlight.data.blocks import plan_blocks
from pairlight.data.columns import Column, TableColumns
from pairlight.search import passages
from pairlight.search.manifest import Manifest, write_manifest
from toy_pairs import overlap

TEXTS = overlap(20, seed=0).texts
QUERY = TEXTS[0]


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in range(3):
        at = range(number, len(TEXTS), 3)
        table = {"id": [f"d{i}" for i in at], "text": [TEXTS[i] for i in at], "third": [str(number)] * len(at)}
        pq.write_table(pa.table(table), folder / f"{number}.parquet")
    return folder


def encoded(source, out, dtype="fp32"):
    blocks = plan_blocks(str(source), TableColumns([Column("text", "text"), Column("id", "id")]))
    job = EncodeJob("qa-small", str(out), dtype, "text", "id")
    return run_job(job, blocks, run_here, ProgressReporter())


def test_a_folder_of_encodings_ranks_as_all_texts_do(source, tmp_path):
    matcher = Matcher.load("qa-small")
    assert encoded(source, tmp_path / "out").counts == {"rows": len(TEXTS), "bad": 0}
    files = sorted((tmp_path / "out").glob("*.encodings"))
    assert sum(len(Encodings.load(file)) for file in files) == len(TEXTS)
    found = rank_encoded(matcher, QUERY, tmp_path / "out", 5)
    expected = matcher.rank(QUERY, TEXTS, top_k=5)
    assert [each["id"] for each in found] == [f"d{each['corpus_id']}" for each in expected]
    assert [each["score"] for each in found] == pytest.approx([each["score"] for each in expected], rel=1e-5)
    assert len({each["corpus_id"] for each in found}) == 5


def test_a_folder_without_encodings_is_refused(tmp_path):
    with pytest.raises(InputError, match="has no encodings"):
        rank_encoded(Matcher.load("qa-small"), QUERY, tmp_path, 5)


def test_texts_that_cannot_be_encoded_are_set_aside(tmp_path):
    pq.write_table(pa.table({"id": ["a", "b"], "text": ["one", ""]}), tmp_path / "t.parquet")
    assert encoded(tmp_path / "t.parquet", tmp_path / "out").counts == {"rows": 2, "bad": 1}
    assert pq.read_table(tmp_path / "out" / "_bad")["id"].to_pylist() == ["b"]


def test_a_text_that_the_model_fails_on_is_set_aside(tmp_path, monkeypatch):
    encode = Matcher.encode

    def fails_on_poison(self, texts, **options):
        if "poison" in (texts if isinstance(texts, list) else texts.texts):
            raise RuntimeError("no such luck")
        return encode(self, texts, **options)

    monkeypatch.setattr(Matcher, "encode", fails_on_poison)
    pq.write_table(pa.table({"id": ["a", "b", "c"], "text": ["one", "poison", "two"]}), tmp_path / "t.parquet")
    assert encoded(tmp_path / "t.parquet", tmp_path / "out").counts == {"rows": 3, "bad": 1}
    (bad,) = pq.read_table(tmp_path / "out" / "_bad").to_pylist()
    assert (bad["id"], bad["bad_reason"]) == ("b", "the model fails on it (RuntimeError: no such luck).")
    made = Encodings.load(tmp_path / "out" / "part-000000.encodings")
    assert [made.text_id(i) for i in range(len(made))] == ["a", "c"]


@pytest.fixture
def shards(source, tmp_path):
    pytest.importorskip("tantivy")
    columns = batch_index.index_columns("text", "id", "title")
    blocks = plan_blocks(str(source), columns, batch_index.ROWS)
    job = batch_index.IndexJob(str(tmp_path / "shards"), "hybrid", "en", "text", "id", None)
    run_job(job, blocks, run_here, ProgressReporter())
    batch_index.join_shards(job.out, blocks, job, "qa-small")
    with Index.open(tmp_path / "shards") as index:
        yield index


def test_shards_are_searched_as_one(shards, tmp_path):
    with Index.create(tmp_path / "one", [{"id": f"d{i}", "text": text} for i, text in enumerate(TEXTS)]) as one:
        assert len(shards) == len(one) == len(TEXTS)
        found, expected = (index.search(QUERY, top=5, first=len(TEXTS)) for index in (shards, one))
        vectors = [index.stage("vectors").candidates(QUERY, 5) for index in (shards, one)]
    assert [each.document.id for each in vectors[0]] == [each.document.id for each in vectors[1]]
    assert found[0].id == expected[0].id == "d0"
    models = {hit.id: hit.model_score for hit in expected}
    shared = [hit for hit in found if hit.id in models]
    assert len(shared) >= 3  # BM25 differs a little
    assert [hit.model_score for hit in shared] == pytest.approx([models[hit.id] for hit in shared], rel=1e-5)
    assert {hit.fields["third"] for hit in shards.search(QUERY, where={"third": "2"})} == {"2"}


def test_shards_are_reranked_from_the_encodings_of_the_model(source, tmp_path, monkeypatch):
    pytest.importorskip("tantivy")
    Matcher("mv-lstm").fit(overlap(6, seed=0), vectors="none", epochs=1, init=None, progress=False).save(tmp_path / "m")
    blocks = plan_blocks(str(source), batch_index.index_columns("text", "id", "title"), batch_index.ROWS)
    job = batch_index.IndexJob(str(tmp_path / "out"), "hybrid", "en", "text", "id", None, str(tmp_path / "m"))
    run_job(job, blocks, run_here, ProgressReporter())
    batch_index.join_shards(job.out, blocks, job, job.model)
    monkeypatch.setattr(passages, "score_windows", None)  # what reranks from texts
    with Index.open(tmp_path / "out") as index:
        found = index.search(QUERY, top=5)
        expected = index.matcher.predict([(QUERY, hit.text) for hit in found])
    assert [hit.model_score for hit in found] == pytest.approx(expected, abs=2e-3)


def test_shards_see_what_is_tuned(shards):
    with Index.open(shards.folder) as other:
        other.set_tuned(0.9, None)
    shards.search(QUERY)
    assert shards.searcher().weight == 0.9


def test_a_shard_whose_process_has_ended_is_searched_by_another(shards):
    expected = [hit.id for hit in shards.search(QUERY)]
    first = next(each for each in multiprocessing.active_children())
    first.kill()
    first.join()
    assert [hit.id for hit in shards.search(QUERY)] == expected


def test_a_search_that_is_interrupted_leaves_no_answer_to_the_next_one(shards, monkeypatch):
    expected = [hit.id for hit in shards.search(QUERY)]
    with monkeypatch.context() as patched:
        patched.setattr(Connection, "recv", interrupted)
        with pytest.raises(KeyboardInterrupt):
            shards.search("another question")
    assert [hit.id for hit in shards.search(QUERY)] == expected
    assert len(shards) == len(TEXTS)


def interrupted(connection):
    raise KeyboardInterrupt


def test_a_damaged_shard_is_one_line(shards, tmp_path, capfd):
    shards.close()
    (tmp_path / "shards" / "part-000001" / "vectors" / "commit.json").write_bytes(b"{")
    with Index.open(tmp_path / "shards") as index, pytest.raises(InputError, match=r"commit\.json is damaged"):
        index.search(QUERY)
    shutil.rmtree(tmp_path / "shards" / "part-000000")
    with Index.open(tmp_path / "shards") as index, pytest.raises(InputError, match=r"part-000000.* cannot be read"):
        len(index)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("names", [("../../other",), ("/etc",), (".",), tuple(f"part-{i:06}" for i in range(10_001))])
def test_a_manifest_names_only_its_own_shards(names, tmp_path):
    tmp_path.joinpath("index").mkdir()
    write_manifest(tmp_path / "index", Manifest("bm25", "en", None, complete=True, shards=names))
    with pytest.raises(InputError, match="shards that are not its own: index again"):
        Index.open(tmp_path / "index")


def test_an_index_of_shards_cannot_be_changed(shards):
    with pytest.raises(InputError, match="cannot be changed"):
        shards.add([{"id": "x", "text": "y"}])
    with pytest.raises(InputError, match="cannot be changed"):
        shards.delete(["d0"])
