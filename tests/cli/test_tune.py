"""`pairlight tune`: resumable, judged on dev, and its answer is a file that `train --settings` takes."""

import json
import shlex
from pathlib import Path

import pytest

from toy_pairs import overlap

FIXED = ["--vectors", "none", "--epochs", "1", "--model", "lstm-rnn", "--try", "hidden=2,3", "--try", "dim=4"]


@pytest.fixture
def data(tmp_path):
    pairs = overlap(20, seed=0)
    rows = zip(pairs.left, pairs.right, pairs.label, strict=True)
    lines = [f"{pairs.texts[i]}\t{pairs.texts[j]}\t{label:g}" for i, j, label in rows]
    (tmp_path / "pairs.tsv").write_text("\n".join(["left\tright\tlabel", *lines]) + "\n", encoding="utf-8")
    return str(tmp_path / "pairs.tsv")


def test_a_study_goes_on_where_it_stopped_and_its_best_trains(run, data, tmp_path):
    out = tmp_path / "study"
    code, said, _ = run("tune", data, "--out", out, "--trials", "2", "--json", *FIXED)
    assert code == 0
    first = json.loads(said)
    assert first["trials"] == 2
    assert first["settings"]["hidden"] in (2, 3)
    assert 0.003 <= first["options"]["lr"] <= 0.3
    assert first["options"]["epochs"] == 1
    code, said, err = run("tune", data, "--out", out, "--trials", "4", "--json", *FIXED)
    assert code == 0
    assert "Trial 3" in err
    assert "Trial 2:" not in err
    best = json.loads(said)
    assert best["trials"] == 4
    assert best["dev"]["MAP"] >= first["dev"]["MAP"]
    assert json.loads((out / "settings.json").read_text()) == best

    model = tmp_path / "m"
    assert run("train", data, "--settings", out / "settings.json", "--out", model, "--seed", "5")[0] == 0
    config = json.loads((model / "config.json").read_text())
    assert config["model"] == "lstm-rnn"
    assert config["settings"]["hidden"] == best["settings"]["hidden"]
    assert config["options"]["lr"] == best["options"]["lr"]
    assert config["options"]["seed"] == 5


def test_what_is_fixed_is_not_sought(run, data, tmp_path):
    code, said, _ = run("tune", data, "--out", tmp_path / "s", "--trials", "1", "--lr", "0.07", "--json", *FIXED)
    assert code == 0
    assert json.loads(said)["options"]["lr"] == 0.07


def test_another_study_in_the_folder_is_left_alone(run, data, tmp_path):
    out = tmp_path / "study"
    assert run("tune", data, "--out", out, "--trials", "1", *FIXED)[0] == 0
    code, _, err = run("tune", data, "--out", out, "--trials", "2", *FIXED, "--batch", "7")
    assert code == 2
    assert "another options" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tune", "DATA", "--out", "s", "--model", "bm25", "--trials", "1"], "nothing to be tuned"),
        (["tune", "DATA", "--out", "s", "--epochs", "0"], "epochs=0 trains nothing"),
        (["tune", "DATA", "--out", "damaged"], "study.journal is damaged: give another folder to --out"),
        (["tune", "DATA", "--out", "s", "--try", "kk=3"], "no setting 'kk'"),
        (["tune", "DATA", "--out", "s", "--model", "magic"], "magic"),
        (["train", "DATA", "--out", "m", "--settings", "nowhere.json"], "nowhere.json"),
        (["train", "DATA", "--out", "m", "--settings", "pairs.tsv"], "no JSON"),
        (["train", "DATA", "--out", "m", "--settings", "other.json", "--model", "bm25"], "is for lstm-rnn"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_done_is_one_clear_line(run, data, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "study.journal").write_text("garbage\nand more\n")
    (tmp_path / "other.json").write_text('{"model": "lstm-rnn", "settings": {}, "options": {}}')
    code, _, err = run(*({"DATA": data}.get(each, each) for each in arguments))
    assert code == 2
    assert said in err.splitlines()[-1]
    assert "Traceback" not in err


def test_ctrl_c_in_a_first_epoch_is_no_fault_of_the_model(run, data, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pairlight.training.loop._epoch", interrupted)
    code, _, err = run("tune", data, "--out", tmp_path / "study", "--trials", "2", *FIXED)
    assert code == 2
    assert "None of the trials in" in err


def test_the_command_told_at_last_names_the_same_columns(run, data, tmp_path):
    text = Path(data).read_text(encoding="utf-8").replace("left\tright", "my question\tright", 1)
    (tmp_path / "named.tsv").write_text(text, encoding="utf-8")
    given = [tmp_path / "named.tsv", "--left", "my question", "--dev", tmp_path / "named.tsv"]
    said = run("tune", *given, "--out", tmp_path / "study", "--trials", "1", *FIXED)[1]
    hint = shlex.split(said.splitlines()[-1].partition("Try: ")[2])
    assert run(*hint[1:-1], tmp_path / "m")[0] == 0
