"""The demo leaves a model and a page, and never overwrites anything else."""

import json
from pathlib import Path

import pytest

from pairlight.core.errors import InputError
from pairlight.data.splits import SPLITS
from pairlight.experiments import demo
from pairlight.experiments.demo import run_demo
from pairlight.matcher import Matcher
from toy_pairs import overlap


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    splits = {split: overlap(20, seed=seed) for seed, split in enumerate(SPLITS)}
    monkeypatch.setattr(demo, "load_dataset", lambda name, progress: splits)
    monkeypatch.setattr(demo, "OPTIONS", {"epochs": 1, "vectors": "none"})


def test_the_demo_leaves_a_model_and_a_page_and_can_be_run_again(toy: None, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    found = [run_demo(out) for _ in range(2)][1]
    assert {"config.json", "model.safetensors", "explained.html"} <= {file.name for file in out.iterdir()}
    assert list(found.results) == ["random", "bm25", "late-interaction"]
    assert list(found.results["late-interaction"]) == ["P@1", "MRR"]
    assert len(found.examples) == 3
    for example in found.examples:
        scores = [candidate.score for candidate in example.candidates]
        assert scores == sorted(scores, reverse=True)
        assert sum(candidate.positive for candidate in example.candidates) == 1
    texts = [explanation.right.text for explanation in found.comparison.explanations]
    assert texts == [candidate.text for candidate in found.examples[0].candidates]
    assert found.page.read_text("utf-8").startswith("<!doctype html>")
    assert json.loads(json.dumps(found.as_dict()))["examples"][0]["left"] == found.examples[0].left
    best = found.examples[0].candidates[0]
    assert Matcher.load(out).predict([(found.examples[0].left, best.text)])[0] == pytest.approx(best.score)


@pytest.mark.parametrize("own", [("README.md",), ("README.md", "config.json"), ("thesis.txt",)])
def test_a_folder_that_no_demo_made_is_refused_before_training(tmp_path: Path, monkeypatch, own) -> None:
    monkeypatch.setattr(demo, "load_dataset", None)  # nothing is read
    for name in own:
        (tmp_path / name).write_bytes(b"my own, caf\xe9")
    with pytest.raises(InputError, match="something other than the model of a demo, so it is not overwritten"):
        run_demo(tmp_path)
    assert all((tmp_path / name).read_bytes() == b"my own, caf\xe9" for name in own)


def test_a_file_is_refused_before_training(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(demo, "load_dataset", None)
    (tmp_path / "notes").write_text("my own")
    with pytest.raises(InputError, match="is a file: choose a folder"):
        run_demo(tmp_path / "notes")
