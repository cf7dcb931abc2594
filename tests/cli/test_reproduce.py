"""`pairlight reproduce`: the list of experiments, and errors before anything is trained."""

import json

import pytest


def test_the_list_has_every_experiment(run):
    code, out, _ = run("reproduce", "list")
    assert code == 0
    for name in ("mv-lstm-k", "mv-lstm-qa", "mv-lstm-sc", "match-srnn", "match-srnn-lcs", "amv-lstm-wikiqa"):
        assert f"{name} " in out
    assert len(json.loads(run("reproduce", "list", "--json")[1])) == 7


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
        (["match-srnn-lcs", "--models", "bm25"], "one model"),
        (["mv-lstm-qa", "--finished", "--data", "chitchat"], "(option --finished)"),
        (["mv-lstm-qa", "--finished"], "finished"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_is_one_line_and_nothing_is_written(fails, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    fails(["reproduce", *arguments], words)
    assert not list(tmp_path.iterdir())
