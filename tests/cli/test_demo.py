"""The demo on toy pairs: it ends with a model and a page, and never writes over what is not its own."""

import pytest

from pairlight import demo
from toy_pairs import overlap


@pytest.fixture
def toy(monkeypatch):
    parts = {part: overlap(20, seed=seed) for seed, part in enumerate(("train", "dev", "test"))}
    monkeypatch.setattr(demo, "load", lambda name, progress: parts)
    monkeypatch.setattr(demo, "OPTIONS", {"epochs": 1, "vectors": "none"})


def test_the_demo_leaves_a_model_and_a_page_and_may_be_run_again(toy, run, tmp_path):
    out = tmp_path / "shown"
    for _ in range(2):
        code, said, _ = run("demo", "--out", out)
        assert code == 0
        assert "mv-lstm" in said
        assert {"config.json", "model.safetensors", "explained.html"} <= {each.name for each in out.iterdir()}


@pytest.mark.parametrize("own", [("README.md",), ("README.md", "config.json"), ("thesis.txt",)])
def test_a_folder_that_no_demo_made_is_refused_before_training(run, tmp_path, monkeypatch, own):
    monkeypatch.setattr(demo, "load", None)  # nothing is read
    for name in own:
        (tmp_path / name).write_bytes(b"my own, caf\xe9")
    code, _, said = run("demo", "--out", tmp_path)
    assert (code, said.strip()) == (
        2,
        f"pairlight: --out {tmp_path} holds something that no demo made: give another folder.",
    )
    assert all((tmp_path / name).read_bytes() == b"my own, caf\xe9" for name in own)


def test_a_file_is_refused_before_training(run, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "load", None)
    (tmp_path / "notes").write_text("my own")
    code, _, said = run("demo", "--out", tmp_path / "notes")
    assert (code, said.strip()) == (2, f"pairlight: --out {tmp_path / 'notes'} is a file: give a folder.")
