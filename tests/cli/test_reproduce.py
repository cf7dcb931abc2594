"""`pairlight reproduce`: the list of experiments, and errors before anything is trained."""

import json

import pytest

from pairlight.core.folders import locked_folder
from pairlight.experiments.papers import experiment_titles


def test_the_list_has_every_experiment(run):
    code, out, _ = run("reproduce", "list")
    assert code == 0
    for name in ("mv-lstm-k", "mv-lstm-qa", "mv-lstm-sc", "match-srnn", "match-srnn-lcs", "amv-lstm-wikiqa"):
        assert f"{name} " in out
    listed = json.loads(run("reproduce", "list", "--json")[1])
    assert set(listed) == {*experiment_titles(), "panel", "defaults", "ready-made", "search"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mv-lstm-qq"], "Did you mean 'mv-lstm-qa'"),
        (["mv-lstm-qa", "--scale", "huge"], "huge"),
        (["mv-lstm-qa", "--scale", "huge"], "(option --scale)"),
        (["mv-lstm-qa", "--models", "magic"], "magic"),
        (["mv-lstm-qa", "--models", "magic"], "(option --models)"),
        (["mv-lstm-qa", "--data", "moon"], "moon"),
        (["mv-lstm-qa", "--data", "moon"], "(option --data)"),
        (["match-srnn-lcs", "--models", "bm25"], "own models"),
        (["mv-lstm-qa", "--finished", "--data", "chitchat"], "(option --finished)"),
        (["mv-lstm-qa", "--finished"], "finished"),
        (["match-srnn-lcs", "--as-published"], "(option --as-published)"),
        (["search", "--cluster", "auto"], "reproduce search runs in one process: leave --cluster out"),
        (["ready-made", "--cluster", "auto"], "(option --cluster)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_is_one_line_and_nothing_is_written(fails, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    fails(["reproduce", *arguments], words)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["mv-lstm-k", "panel", "ready-made", "search"])
def test_a_second_run_into_the_same_folder_is_refused(fails, tmp_path, name):
    with locked_folder(tmp_path / "out"):
        fails(["reproduce", name, "--out", tmp_path / "out"], f"Another run is writing to {tmp_path / 'out'}")


def test_the_ready_made_models_are_rebuilt(run, tmp_path, monkeypatch):
    from pairlight.experiments import ready_made
    from toy_pairs import overlap

    splits = {split: overlap(12, seed=seed) for seed, split in enumerate(("train", "dev", "test"))}
    monkeypatch.setattr(ready_made, "answer_sentences", lambda: splits)
    monkeypatch.setattr(ready_made, "sentence_similarity", lambda: splits)
    code, said, _ = run("reproduce", "ready-made", "--out", tmp_path)
    assert code == 0
    assert "qa-small   P@1" in said
    for name in ("qa-small", "sim-small"):
        assert "CC BY-SA 4.0" in (tmp_path / name / "README.md").read_text(encoding="utf-8")
