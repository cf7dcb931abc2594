"""`pairlight compare`: a leaderboard that is continued, and runs that fail."""

import json
import os
import shutil
import signal

import pytest

from cli.helpers import write_labels, write_pairs
from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.experiments import runs
from toy_pairs import overlap

ONE = ["--seeds", "1", "--jobs", "1"]
FAST = ["--epochs", "1", "--vectors", "none"]


def test_a_leaderboard_is_written_and_no_run_is_repeated(run, data, tmp_path):
    arguments = ["compare", data, "--models", "random,bm25,lstm-rnn", "--seeds", "2", "--out", tmp_path, "--jobs", "2"]
    assert run(*arguments, *FAST)[0] == 0
    rows = json.loads((tmp_path / "leaderboard.json").read_text())["rows"]
    assert {row["model"]: row["seeds"] for row in rows} == {"random": 2, "bm25": 2, "lstm-rnn": 2}
    assert rows == sorted(rows, key=lambda row: -row["test"]["MAP"])
    assert "| bm25 | 1.000 ± 0.000 |" in (tmp_path / "leaderboard.md").read_text()
    assert "bm25" in (tmp_path / "leaderboard.html").read_text()
    files = {file: file.stat().st_mtime_ns for file in (tmp_path / "runs").iterdir()}
    assert len(files) == 6
    next(iter(files)).unlink()
    code, said, _ = run(*arguments, *FAST, "--json")
    assert code == 0
    assert [row["model"] for row in json.loads(said)] == [row["model"] for row in rows]
    kept = [file for file, when in files.items() if file.stat().st_mtime_ns == when]
    assert len(kept) == 5


def test_the_leaderboard_links_to_examples_where_models_disagree(run, data, tmp_path):
    arguments = ["compare", data, "--models", "random,bm25,lstm-rnn", "--seeds", "2", "--out", tmp_path]
    arguments += ["--epochs", "2", "--vectors", "none", "--jobs", "1"]
    assert run(*arguments)[0] == 0
    assert sorted(folder.name.rsplit("-", 1)[0] for folder in (tmp_path / "models").iterdir()) == [
        "bm25-1",
        "lstm-rnn-1",
        "random-1",
    ]
    rows = json.loads((tmp_path / "leaderboard.json").read_text())["rows"]
    assert rows[0]["disagreements"] is None
    for row in rows[1:]:
        page = row["disagreements"]["page"]
        assert f"]({page})" in (tmp_path / "leaderboard.md").read_text()
        assert f'href="{page}"' in (tmp_path / "leaderboard.html").read_text()
        assert f"{rows[0]['model']} and {row['model']} disagree" in (tmp_path / page).read_text()
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert "![Training loss and dev metric after every epoch](curves.png)" in (tmp_path / "leaderboard.md").read_text()

    for name in ("models", "disagreements"):
        shutil.rmtree(tmp_path / name)
    code, said, err = run(*arguments)
    assert code == 0
    assert not (tmp_path / "models").exists()
    assert "disagreements" not in said
    assert "lstm-rnn: disagreements are not shown" in " ".join(err.split())


def test_a_leaderboard_without_curves_does_not_show_older_ones(run, data, tmp_path):
    arguments = [*ONE, *FAST, "--out", tmp_path / "c"]
    assert "curves.png" in run("compare", data, "--models", "knrm", *arguments)[1]
    assert "curves.png" not in run("compare", data, "--models", "bm25", *arguments)[1]
    assert not (tmp_path / "c" / "curves.png").exists()


def test_a_leaderboard_where_every_score_is_zero_is_written(run, tmp_path):
    rows = [(f"a{n} b{n}", f"{side}{n} z{n}", side == "y") for n in range(30) for side in ("x", "y")]
    path = tmp_path / "none.tsv"
    lines = [f"{left}\t{right}\t{label:d}" for left, right, label in rows]
    path.write_text("\n".join(["left\tright\tlabel", *lines]), encoding="utf-8")
    arguments = ["--models", "bm25", *ONE, "--metric", "P@1", "--out", tmp_path / "c"]
    assert run("compare", path, *arguments)[0] == 0
    assert "| bm25 | 0.000 |" in (tmp_path / "c" / "leaderboard.md").read_text()
    assert (tmp_path / "c" / "leaderboard.json").exists()


def test_rated_pairs_are_compared_by_spearman(run, tmp_path):
    rated = write_labels(tmp_path / "rated.tsv", [1, 2, 3, 4, 5] * 12)
    code, said, _ = run("compare", rated, "--models", "bm25,random", *ONE, "--out", tmp_path / "c")
    assert code == 0
    assert "| model | Spearman |" in said


def test_positive_pairs_alone_are_compared_with_mined_negatives(run, tmp_path):
    positives = write_labels(tmp_path / "positives.tsv", [1] * 40)
    arguments = ["--models", "lstm-rnn", *ONE, *FAST, "--negatives", "random"]
    assert run("compare", positives, "--out", tmp_path / "c", *arguments)[0] == 0


def test_a_faq_without_labels_is_compared_with_random_negatives(run, tmp_path):
    lines = ["question,answer", *(f"how do I get number {n}?,ask for the box {n} at the desk" for n in range(40))]
    (tmp_path / "faq.csv").write_text("\n".join(lines) + "\n")
    code, _, err = run("compare", tmp_path / "faq.csv", "--models", "bm25", *ONE, "--out", tmp_path / "c")
    assert code == 0
    assert "has no label column, so every pair is a positive" in err
    (row,) = json.loads((tmp_path / "c" / "leaderboard.json").read_text())["rows"]
    assert row["options"]["negatives"] == "random"


def test_a_faq_of_eight_lines_is_compared_and_one_of_five_is_too_small(run, fails, tmp_path):
    lines = ["question,answer", *(f"how do I get number {n}?,ask for the box {n} at the desk" for n in range(8))]
    path = tmp_path / "faq.csv"
    path.write_text("\n".join(lines) + "\n")
    assert run("compare", path, "--models", "bm25", *ONE, "--out", tmp_path / "c")[0] == 0
    path.write_text("\n".join(lines[:6]) + "\n")
    fails(
        ["compare", path, "--models", "bm25", *ONE, "--out", tmp_path / "d"],
        "5 ranking lists cannot be split into train, dev and test: give at least 6",
    )


def test_a_setting_is_given_to_every_model_that_has_it(run, fails, data, tmp_path):
    arguments = ["compare", data, "--models", "lstm-rnn,bm25,mv-lstm", *ONE, *FAST, "--out", tmp_path / "c"]
    assert run(*arguments, "--set", "hidden=3", "--set", "k=2")[0] == 0
    rows = json.loads((tmp_path / "c" / "leaderboard.json").read_text())["rows"]
    found = {row["model"]: (row["settings"].get("hidden"), row["settings"].get("k")) for row in rows}
    assert found == {"lstm-rnn": (3, None), "bm25": (None, None), "mv-lstm": (3, 2)}
    fails([*arguments, "--set", "hiden=3"], "No setting named 'hiden'. Did you mean 'hidden'?", "(option --set)")
    fails([*arguments, "--set", "hidden=-3"], "hidden=-3")
    fails([*arguments, "--set", "hidden"], "is not of the form name=value", "(option --set)")


def test_graded_pairs_have_pages_of_disagreements(run, tmp_path):
    rated = write_labels(tmp_path / "rated.tsv", [1, 2, 3, 4, 5] * 20)
    code, said, _ = run("compare", rated, "--models", "bm25,random", *ONE, "--out", tmp_path / "c")
    assert code == 0
    assert "whose label " in said
    assert "predicts better by a tenth of the scale" in said
    rows = json.loads((tmp_path / "c" / "leaderboard.json").read_text())["rows"]
    assert "disagree" in (tmp_path / "c" / rows[1]["disagreements"]["page"]).read_text()


def test_the_folder_of_another_dataset_is_refused(run, fails, data, tmp_path):
    other = write_pairs(tmp_path / "other.tsv", overlap(20, seed=7))
    arguments = ["--models", "bm25", *ONE, "--out", tmp_path / "c"]
    assert run("compare", data, *arguments)[0] == 0
    fails(["compare", other, *arguments], "contains runs on other data: choose another folder. (option --out)")
    assert run("compare", data, *arguments, "--metric", "auto")[0] == 0
    (tmp_path / "c" / "data.json").write_text("damaged")
    fails(["compare", data, *arguments], "data.json is damaged (not valid JSON): delete it if the runs in this folder")
    (tmp_path / "c" / "data.json").unlink()
    assert run("compare", data, *arguments)[0] == 0
    shutil.rmtree(tmp_path / "c" / "runs")
    assert run("compare", other, *arguments)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--metric", "accuracy"], "metric='accuracy' cannot be computed on ranking lists"),
        (["--metric", "accuracy"], "(option --metric)"),
        (["--test", "PAIRS", "--dev", "DATA"], "The dev pairs form ranking lists and the test pairs independent pairs"),
        (["--test", "POSITIVES"], "No metric can be computed on the test pairs. All 40 pairs are positive"),
        (["--dev", "DATA"], "There are dev pairs but no test pairs"),
        (["--dev", "DATA"], "(option --test)"),
        (["--folder", "."], "for named datasets"),
        (["--folder", "."], "(option --folder)"),
        (["--models", "bm25,magic"], "No model named 'magic'"),
    ],
)
def test_bad_input_is_found_before_training(fails, data, tmp_path, arguments, words):
    files = {
        "DATA": data,
        "PAIRS": write_labels(tmp_path / "pairs.tsv", [0, 1] * 20),
        "POSITIVES": write_labels(tmp_path / "positives.tsv", [1] * 40),
    }
    given = [files.get(each, each) for each in arguments]
    fails(["compare", data, "--models", "bm25", *ONE, "--out", tmp_path / "c", *given], words)
    assert not (tmp_path / "c" / "runs").exists()


@pytest.mark.parametrize("option", ["--dev", "--test"])
def test_a_named_dataset_has_its_own_dev_and_test_splits(fails, tmp_path, option):
    arguments = ["compare", "wikiqa", "--models", "bm25", option, "d.tsv", "--out", tmp_path / "c"]
    fails(arguments, "The dataset wikiqa has dev and test splits of its own", f"(option {option})")


def killed(folder, seed, spec, splits):
    os.kill(os.getpid(), signal.SIGKILL)


def all_but_knrm(folder, seed, spec, splits):
    if spec.model == "knrm":
        raise InputError("the loss is infinite")
    return runs.train_and_save(folder, seed, spec, splits)


def test_a_run_that_is_killed_is_one_line(fails, data, tmp_path, monkeypatch):
    monkeypatch.setattr("pairlight.experiments.compare.train_and_save", killed)
    fails(["compare", data, "--models", "bm25", *ONE, "--out", tmp_path / "c"], "was killed", "(option --jobs)")


def test_a_run_that_fails_is_named_and_the_others_make_the_leaderboard(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr("pairlight.experiments.compare.train_and_save", all_but_knrm)
    arguments = [*ONE, "--out", tmp_path / "c"]
    code, said, err = run("compare", data, "--models", "knrm,bm25", *arguments)
    assert code == 2
    assert "Failed: knrm, seed 1: the loss is infinite" in err
    assert err.splitlines()[-1] == "pairlight: 1 run failed. knrm, seed 1: the loss is infinite"
    assert "| bm25 |" in said
    assert "| knrm |" not in said
    code, said, _ = run("compare", data, "--models", "knrm", *arguments)
    assert (code, said) == (2, "")


@pytest.mark.filterwarnings("always")
def test_a_warning_of_several_runs_is_printed_once(run, tmp_path):
    pairs = overlap(20, seed=0)
    left = [f"{pairs.texts[i]} {'long ' * 260}" for i in pairs.left]
    path = write_pairs(tmp_path / "long.tsv", Pairs.of(left, [pairs.texts[i] for i in pairs.right], pairs.label))
    arguments = ["--models", "knrm", "--seeds", "2", "--jobs", "1", *FAST, "--out", tmp_path / "c"]
    err = " ".join(run("compare", path, *arguments)[2].split())
    assert err.count("have more than 256 words and were truncated") == 2  # for train, and as many for dev as for test
