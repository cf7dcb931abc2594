"""`pairlight data`: the list of named datasets, and a sample of one."""

import json

import pytest

from pairlight.datasets.catalog import DATASETS
from toy_pairs import overlap


@pytest.fixture
def seeds(monkeypatch) -> list[int]:
    """Replace the protocol of the dataset sotu by toy pairs; the seeds it is called with are collected."""
    asked: list[int] = []

    def completion(texts, *, seed, limit, progress):
        asked.append(seed)
        return {split: overlap(9, seed=number) for number, split in enumerate(("train", "dev", "test"))}

    monkeypatch.setattr("pairlight.datasets.catalog.completion", completion)
    monkeypatch.setattr("pairlight.datasets.catalog.raw_texts", lambda name: [])
    return asked


def test_the_list_has_the_license_and_source_of_every_dataset(run):
    code, out, _ = run("data", "list")
    assert code == 0
    for dataset in DATASETS.values():
        assert dataset.license in out
        assert dataset.source in out
    rows = json.loads(run("data", "list", "--json")[1])
    assert [row["name"] for row in rows] == list(DATASETS)
    assert set(rows[0]) == {"name", "description", "size", "license", "source", "task"}


def test_a_sample_has_whole_ranking_lists(run, seeds):
    rows = json.loads(run("data", "show", "sotu", "--lists", "2", "--json")[1])
    assert [row["label"] for row in rows] == [1, 0, 0, 0] * 2
    out = run("data", "show", "sotu", "--lists", "2")[1]
    assert out.count(rows[0]["left"]) == 1
    assert all(f"  {row['label']:g}  {row['right']}" in out for row in rows)


def test_another_seed_shows_other_lists_of_the_same_dataset(run, seeds):
    first = run("data", "show", "sotu", "--lists", "1")[1]
    assert any(run("data", "show", "sotu", "--lists", "1", "--seed", seed)[1] != first for seed in (1, 2))
    assert set(seeds) == {0}
    assert run("data", "show", "sotu", "--seed", "-1")[0] == 2


def test_a_named_dataset_is_split_the_same_whatever_seed_trains_on_it(run, seeds, tmp_path):
    assert run("train", "sotu", "--model", "bm25", "--seed", "5", "--out", tmp_path / "m")[0] == 0
    assert run("evaluate", tmp_path / "m", "sotu")[0] == 0
    assert run("compare", "sotu", "--models", "bm25", "--seeds", "1", "--jobs", "1", "--out", tmp_path / "c")[0] == 0
    assert run("data", "show", "sotu", "--seed", "3")[0] == 0
    assert seeds == [0, 0, 0, 0]


def test_an_unknown_dataset_is_an_error(fails):
    fails(["data", "show", "wikipedia"], "No dataset named 'wikipedia'. Did you mean 'wikiqa'?")


def test_a_missing_folder_is_named_with_its_option(fails, tmp_path):
    fails(["data", "show", "wikiqa", "--folder", tmp_path], f"not in {tmp_path}", "(option --folder)")
