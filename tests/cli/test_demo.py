"""`pairlight demo`: it ends with a model and a page, and overwrites only its own results."""

import json

import pytest

from pairlight import Index
from pairlight.experiments import demo
from toy_pairs import overlap


@pytest.fixture
def toy(monkeypatch):
    splits = {split: overlap(20, seed=seed) for seed, split in enumerate(("train", "dev", "test"))}
    monkeypatch.setattr(demo, "load_dataset", lambda name, progress: splits)
    monkeypatch.setattr(demo, "OPTIONS", {"epochs": 1, "vectors": "none"})


def test_the_demo_writes_a_model_and_a_page_and_can_be_run_again(toy, run, tmp_path):
    out = tmp_path / "shown"
    for _ in range(2):
        code, said, _ = run("demo", "--out", out)
        assert code == 0
        assert "late-interaction" in said
        assert said.endswith(
            "    pip install '.[search,serve]'\n    pairlight index documents.csv --out my-index\n"
            "    pairlight serve --index my-index        # then open http://127.0.0.1:8080\n"
        )
        assert {"config.json", "model.safetensors", "explained.html"} <= {each.name for each in out.iterdir()}


def test_the_demo_is_served_with_its_sentences_and_the_page_is_opened(toy, run, tmp_path, monkeypatch):
    served = []
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)

    def serve(settings, on_ready):
        served.append(settings)
        on_ready("http://127.0.0.1:1234")  # what the server does when its models are loaded
        return 0

    monkeypatch.setattr("pairlight.serve.server.serve", serve)
    assert run("demo", "--out", tmp_path / "shown", "--serve", "--port", "0")[0] == 0
    assert opened == ["http://127.0.0.1:1234"]
    assert (served[0].models, served[0].index) == (("qa-small",), tmp_path / "shown-index")
    with Index.open(served[0].index) as index:
        assert len(index) == 60  # the positives of three splits
        assert ", " in next(iter(index.documents.all_documents(1))).text


def test_the_result_as_json_has_metrics_and_examples(toy, run, tmp_path):
    found = json.loads(run("demo", "--out", tmp_path / "shown", "--json")[1])
    assert set(found) == {"ranked", "results", "examples", "page", "model", "seconds"}
    assert {"P@1", "MRR"} <= set(found["results"]["late-interaction"])
    assert set(found["examples"][0]["candidates"][0]) == {"text", "score", "positive"}


@pytest.mark.parametrize("names", [("README.md",), ("README.md", "config.json"), ("thesis.txt",)])
def test_a_folder_with_other_contents_is_refused_before_training(fails, tmp_path, monkeypatch, names):
    monkeypatch.setattr(demo, "load_dataset", None)  # nothing is read
    for name in names:
        (tmp_path / name).write_bytes(b"my own, caf\xe9")
    fails(["demo", "--out", tmp_path], f"{tmp_path} contains something other than", "(option --out)")
    assert all((tmp_path / name).read_bytes() == b"my own, caf\xe9" for name in names)


def test_a_file_is_refused_before_training(run, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "load_dataset", None)
    (tmp_path / "notes").write_text("my own")
    code, _, err = run("demo", "--out", tmp_path / "notes")
    assert (code, err.strip()) == (2, f"pairlight: {tmp_path / 'notes'} is a file: choose a folder. (option --out)")
