"""`pairlight reproduce`: what there is, and one clear line where there is not."""

import json

import pytest


def test_the_list_tells_every_experiment(run):
    code, out, _ = run("reproduce", "list")
    assert code == 0
    for name in ("mv-lstm-k", "mv-lstm-qa", "mv-lstm-sc", "match-srnn", "match-srnn-lcs", "amv-lstm-wikiqa"):
        assert f"{name} " in out
    assert len(json.loads(run("reproduce", "list", "--json")[1])) == 7


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mv-lstm-qq"], "Did you mean 'mv-lstm-qa'"),
        (["mv-lstm-qa", "--scale", "huge"], "neither small nor full"),
        (["mv-lstm-qa", "--models", "magic"], "magic"),
        (["mv-lstm-qa", "--data", "moon"], "moon"),
        (["match-srnn-lcs", "--models", "bm25"], "one model"),
        (["mv-lstm-qa", "--finished", "--data", "chitchat"], "leave --models and --data out"),
        (["mv-lstm-qa", "--finished"], "Nothing of mv-lstm-qa is finished in reproduced"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_not_there_is_one_clear_line(run, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("reproduce", *arguments)
    assert code == 2
    assert said in err.splitlines()[-1]
    assert not list(tmp_path.iterdir())
