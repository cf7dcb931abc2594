"""`pairlight tune`: a search that can be continued, and whose result `train --settings` reads."""

import json
import shlex
from pathlib import Path

import pytest

from cli.helpers import SMALL, write_pairs
from pairlight.data.pairs import Pairs
from toy_pairs import overlap

FIXED = ["--vectors", "none", "--epochs", "1", "--model", "lstm-rnn", "--try", "hidden=2,3", "--try", "dim=4"]


def test_a_search_is_continued_and_its_best_settings_can_be_trained(run, data, tmp_path):
    out = tmp_path / "study"
    code, said, _ = run("tune", data, "--out", out, "--trials", "2", "--json", *FIXED)
    assert code == 0
    first = json.loads(said)
    assert first["trials"] == 2
    assert first["settings"]["hidden"] in (2, 3)
    assert 0.0001 <= first["options"]["lr"] <= 0.01
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
    assert config["training"]["lr"] == best["options"]["lr"]
    assert config["training"]["seed"] == 5


def test_options_that_are_given_are_not_searched(run, data, tmp_path):
    code, said, _ = run("tune", data, "--out", tmp_path / "s", "--trials", "1", "--lr", "0.07", "--json", *FIXED)
    assert code == 0
    assert json.loads(said)["options"]["lr"] == 0.07


def test_the_folder_of_another_search_is_refused(run, fails, data, tmp_path):
    out = tmp_path / "study"
    assert run("tune", data, "--out", out, "--trials", "1", *FIXED)[0] == 0
    fails(["tune", data, "--out", out, "--trials", "2", *FIXED, "--batch", "7"], "other options", "(option --out)")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["DATA", "--out", "s", "--model", "bm25", "--trials", "1"], "nothing to tune. (option --model)"),
        (["DATA", "--out", "s", "--epochs", "0"], "epochs=0 trains nothing"),
        (["DATA", "--out", "s", "--epochs", "0"], "(option --epochs)"),
        (["DATA", "--out", "damaged"], "study.json is damaged (not valid JSON)"),
        (["DATA", "--out", "s", "--try", "kk=3"], "No setting named 'kk'"),
        (
            ["DATA", "--out", "s", "--try", "k"],
            "'k' is not of the form name=value: write for example k=5. (option --try)",
        ),
        (["DATA", "--out", "s", "--model", "magic"], "magic"),
        (["wikiqa", "--out", "s", "--left-id", "q"], "for tables of pairs, and wikiqa is not one"),
        (["wikiqa", "--out", "s", "--left-id", "q"], "(option --left-id)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_is_one_line(fails, data, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "study.json").write_text("garbage\nand more\n")
    fails(["tune", *({"DATA": data}.get(each, each) for each in arguments)], words)


def test_ctrl_c_in_the_first_trial_says_that_no_trial_was_finished(fails, data, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pairlight.training.examples.RankingExamples.epoch", interrupted)
    fails(["tune", data, "--out", tmp_path / "study", "--trials", "2", *FIXED], "No trial in", "was finished")


def test_the_command_that_is_suggested_has_the_same_columns(run, data, tmp_path):
    text = Path(data).read_text(encoding="utf-8").replace("left\tright", "my question\tright", 1)
    (tmp_path / "named.tsv").write_text(text, encoding="utf-8")
    given = [tmp_path / "named.tsv", "--left", "my question", "--dev", tmp_path / "named.tsv"]
    said = run("tune", *given, "--out", tmp_path / "study", "--trials", "1", *FIXED)[1]
    hint = shlex.split(said.splitlines()[-1].partition("Train it with: ")[2])
    assert run(*hint[1:-1], tmp_path / "m")[0] == 0


def test_the_test_pairs_of_compare_are_never_used(run, tmp_path):
    path = write_pairs(tmp_path / "lists.tsv", overlap(30, seed=0))
    assert run("tune", path, "--model", "knrm", "--trials", "1", "--out", tmp_path / "t", *SMALL[-4:])[0] == 0
    assert run("compare", path, "--models", "bm25", "--seeds", "1", "--jobs", "1", "--out", tmp_path / "c")[0] == 0
    digests = json.loads((tmp_path / "c" / "data.json").read_text())
    study = (tmp_path / "t" / "study.json").read_text()
    assert digests["train"] in study
    assert digests["dev"] in study
    assert digests["test"] not in study


@pytest.mark.filterwarnings("always")
def test_a_warning_of_several_trials_is_printed_once(run, tmp_path):
    pairs = overlap(20, seed=0)
    left = [f"{pairs.texts[i]} {'long ' * 260}" for i in pairs.left]
    path = write_pairs(tmp_path / "long.tsv", Pairs.of(left, [pairs.texts[i] for i in pairs.right], pairs.label))
    arguments = ["--model", "knrm", "--trials", "2", "--vectors", "none", "--epochs", "1", "--out", tmp_path / "t"]
    err = " ".join(run("tune", path, *arguments)[2].split())
    assert err.count("have more than 256 words and were truncated") == 2  # once for train, once for dev
