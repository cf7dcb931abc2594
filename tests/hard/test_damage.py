"""Saved files that are truncated, or have a flipped bit, give the identical result or one clear line."""

import json
import shutil
import sys
import warnings
from contextlib import chdir
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.helpers import write_pairs
from pairlight import Document, Encodings, Index, InputError, Matcher, cli
from pairlight.batch import index as batch_index
from pairlight.batch.job import run_here, run_job
from pairlight.batch.score import ScoreJob
from pairlight.core.progress import ProgressReporter
from pairlight.core.records import RecordError, decode_file
from pairlight.data.blocks import plan_blocks
from pairlight.data.columns import Column, TableColumns
from pairlight.datasets.folder import read_card
from pairlight.experiments.records import read_values
from pairlight.experiments.spec import RunResult
from pairlight.experiments.tune import tune
from pairlight.training.checkpoint import read_checkpoint
from toy_pairs import overlap

PAIRS = overlap(12, seed=0)
OPTIONS = {"vectors": "none", "epochs": 1, "init": None, "progress": False, "baseline": False}
TEXTS = [(PAIRS.texts[i], PAIRS.texts[j]) for i, j in zip(PAIRS.left[:6], PAIRS.right[:6], strict=True)]
FEW, MANY = 12, 150  # damages of each file, in the default suite and in `make test-hard`


def command(*arguments):
    sys.argv = ["pairlight", *map(str, arguments)]
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert not stopped.value.code


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with a result of every kind."""
    folder = tmp_path_factory.mktemp("saved")
    write_pairs(folder / "pairs.tsv", PAIRS)
    matcher = Matcher("mv-lstm", hidden=3, k=2, dim=4, evidence=False)
    matcher.fit(PAIRS, PAIRS, folder=folder / "training", **OPTIONS).save(folder / "model")
    asked = folder / "asked.tsv"
    rows = [f"{PAIRS.texts[i]}\t{PAIRS.texts[j]}" for i, j in zip(PAIRS.left[::4], PAIRS.right[::4], strict=True)]
    asked.write_text("left\tright\n" + "\n".join(rows) + "\n")
    command("build", "citation", asked, "--out", folder / "dataset")
    tune(PAIRS, PAIRS, "mv-lstm", folder / "tune", trials=2, choices={"hidden": ["2"]}, options=dict(OPTIONS_OF_TUNE))
    documents = [Document(str(i), text) for i, text in enumerate(PAIRS.texts)]
    Index.create(folder / "index", documents, model=None).close()
    Index.create(folder / "encoded", documents[:20], model=folder / "model").close()
    matcher.encode(PAIRS.texts[:20]).save(folder / "texts.encodings")
    (folder / "parquet").mkdir()
    table = pa.table({"id": ["1", "2"], "left": TEXTS[0], "right": TEXTS[1]})
    for name in ("a", "b"):
        pq.write_table(table, folder / "parquet" / f"{name}.parquet")
    score_folder(folder)
    index_shards(folder)
    command("compare", folder / "pairs.tsv", "--models", "bm25,random", *COMPARE, "--out", folder / "compare")
    return folder


OPTIONS_OF_TUNE = {"vectors": "none", "epochs": 1}
COMPARE = ["--seeds", 1, "--jobs", 1]


def score_folder(folder):
    with chdir(folder):  # a job is that of its paths, so that a copy of the folder needs relative ones
        blocks = plan_blocks("parquet", TableColumns([Column("left", "left"), Column("right", "right")]))
        return run_job(ScoreJob("model", "scored"), blocks, run_here, ProgressReporter())


def index_shards(folder):
    blocks = plan_blocks(str(folder / "parquet"), batch_index.index_columns("left", "id", "title"), batch_index.ROWS)
    job = batch_index.IndexJob(str(folder / "shards"), "hybrid", "en", "left", "id", None)
    run_job(job, blocks, run_here, ProgressReporter())
    batch_index.join_shards(job.out, blocks, job, None)


def use_model(folder):
    return Matcher.load(folder / "model").predict(TEXTS, as_probability=True).tolist()


def use_checkpoint(folder):
    found = read_checkpoint(folder / "training" / "checkpoint.safetensors")
    return {name: tensor.tolist() for name, tensor in found.tensors.items()}, found.run, found.history.as_dict()


def use_card(folder):
    return read_card(folder / "dataset")


def use_tune(folder):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = tune(
            PAIRS, PAIRS, "mv-lstm", folder / "tune", trials=2, choices={"hidden": ["2"]}, options=dict(OPTIONS_OF_TUNE)
        )
    assert all("is damaged" in str(each.message) or "no format" in str(each.message) for each in caught)
    return found


def use_index(folder):
    with Index.open(folder / "index") as index:
        index.check()
        found = [hit.score for hit in index.search(PAIRS.texts[0], top=5)]
        return sorted((each.id, each.text) for each in index.documents.all_documents()), found


def use_encoded_index(folder):
    with Index.open(folder / "encoded") as index:
        index.check()
        return [(hit.id, hit.model_score) for hit in index.search(PAIRS.texts[0], top=20)]


def use_encodings(folder):
    found = Encodings.load(folder / "texts.encodings")
    return Matcher.load(folder / "model").rank(PAIRS.texts[0], found, top_k=20, return_documents=True)


def use_job(folder):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counts = score_folder(folder).counts
    assert all("its block is processed again" in str(each.message) for each in caught)
    return counts, [pq.read_table(path).to_pydict() for path in sorted((folder / "scored").glob("*.parquet"))]


def use_shards(folder):
    with Index.open(folder / "shards") as index:
        index.check()
        return index.manifest


def use_runs(folder):
    values = {path: read_values(path, "the run is repeated") for path in (folder / "compare" / "runs").iterdir()}
    return [
        (
            decode_file(path, tuple[str, ...], each.get("notes"), ""),
            decode_file(path, RunResult, each.get("result"), ""),
        )
        for path, each in sorted(values.items())
    ]


KINDS = {
    "model": (use_model, ["model/config.json", "model/tokenizer.json", "model/model.safetensors"]),
    "checkpoint": (use_checkpoint, ["training/checkpoint.safetensors"]),
    "card": (use_card, ["dataset/card.json"]),
    "index": (use_index, ["index/manifest.json", "index/vectors/*", "index/documents/*"]),
    "index with encodings": (use_encoded_index, ["encoded/manifest.json", "encoded/vectors/*", "encoded/documents/*"]),
    "encodings": (use_encodings, ["texts.encodings"]),
    "job": (use_job, ["scored/_job.json", "scored/_done/part-000000.json"]),
    "shards": (use_shards, ["shards/manifest.json"]),
    "runs": (use_runs, ["compare/runs/*"]),
}


def damages(content: bytes, number: int):
    """Truncated contents, and contents with a flipped bit."""
    rng = np.random.default_rng(0)
    for size in {0, 1, len(content) - 1, *rng.integers(0, len(content), number // 3).tolist()}:
        yield content[:size]
    for place in rng.integers(0, len(content), number).tolist():
        yield content[:place] + bytes([content[place] ^ (1 << int(rng.integers(8)))]) + content[place + 1 :]


def check(kind, saved, folder, number):
    use, patterns = KINDS[kind]
    shutil.copytree(saved, folder, dirs_exist_ok=True)
    expected = use(folder)
    for path in [path for pattern in patterns for path in sorted(folder.glob(pattern)) if path.stat().st_size]:
        content = path.read_bytes()
        for damaged in damages(content, number):
            path.unlink()  # another process, or an index that is still open, may have mapped it
            path.write_bytes(damaged)
            said = ""
            try:
                found = use(folder)
            except InputError as error:
                said = str(error)
            assert said or found == expected, f"{path.name}: another result"
            assert "\n" not in said
        path.write_bytes(content)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_damaged_files_is_one_clear_line_or_changes_nothing(kind, saved, tmp_path):
    check(kind, saved, tmp_path, FEW)


@pytest.mark.hard
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_one_clear_line_or_change_nothing(kind, saved, tmp_path):
    check(kind, saved, tmp_path, MANY)


@pytest.mark.hard
@pytest.mark.filterwarnings("default:.* is damaged")  # the run is repeated, with this warning
def test_a_damaged_trial_run_record_or_disagreement_costs_only_itself(saved, tmp_path):
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    expected = use_tune(tmp_path)
    for path in sorted((tmp_path / "tune" / "trials").iterdir()):
        content = path.read_bytes()
        for damaged in damages(content, 3):
            path.write_bytes(damaged)
            assert use_tune(tmp_path) == expected
    arguments = ["--models", "bm25,random", *COMPARE, "--out", tmp_path / "compare"]
    rows = json.loads((tmp_path / "compare" / "leaderboard.json").read_bytes())["rows"]
    for path in [*(tmp_path / "compare" / "runs").iterdir(), *(tmp_path / "compare" / "disagreements").glob("*.json")]:
        path.write_bytes(path.read_bytes()[:-30])
        command("compare", tmp_path / "pairs.tsv", *arguments)
        found = json.loads((tmp_path / "compare" / "leaderboard.json").read_bytes())["rows"]
        assert [row["test"] for row in found] == [row["test"] for row in rows]


def test_a_damaged_settings_file_of_a_study_names_itself(saved, tmp_path):
    shutil.copytree(saved / "tune", tmp_path / "tune")
    (tmp_path / "tune" / "study.json").write_bytes(b"{")
    with pytest.raises(RecordError, match=r"study\.json is damaged"):
        use_tune(tmp_path)


def test_the_files_that_are_damaged_exist(saved):
    for _, patterns in KINDS.values():
        assert all(any(Path(saved).glob(pattern)) for pattern in patterns)
