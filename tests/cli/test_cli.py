"""The command line as a user meets it: results on standard output, one clear line and an exit code when it can't."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pairlight import compare
from pairlight.cli import main
from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from toy_pairs import overlap

SMALL = ["--set", "hidden=4", "--set", "k=3", "--set", "dim=6", "--vectors", "none", "--epochs", "1"]


def write_tsv(path, pairs: Pairs, header="left\tright\tlabel"):
    rows = zip(pairs.left, pairs.right, pairs.label, strict=True)
    lines = [f"{pairs.texts[i]}\t{pairs.texts[j]}\t{label:g}" for i, j, label in rows]
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_tsv(tmp_path_factory.mktemp("data") / "pairs.tsv", overlap(20, seed=0))


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("models") / "model"
    done = subprocess.run(
        [sys.executable, "-m", "pairlight", "train", data, "--out", str(out), *SMALL], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return str(out)


def test_training_prints_dev_metrics_and_leaves_a_model_with_its_log(run, data, tmp_path):
    out = tmp_path / "m"
    code, said, _ = run("train", data, "--out", out, "--test", data, *SMALL)
    assert code == 0
    assert "dev   P@1" in said
    assert "test  P@1" in said
    assert sorted(p.name for p in out.iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "training",
    ]
    assert [p.name for p in (out / "training").iterdir()] == ["log.jsonl"]
    assert f"pairlight train {data}" in (out / "README.md").read_text()


def test_results_come_as_json_too(run, data, model, tmp_path):
    code, out, _ = run("train", data, "--out", tmp_path / "m", "--json", *SMALL)
    assert code == 0
    assert set(json.loads(out)["dev"]["metrics"]) >= {"MAP", "P@1"}
    assert json.loads(run("evaluate", model, data, "--json")[1])["kind"] == "ranking"
    assert len(json.loads(run("models", "--json")[1])) > 4
    assert json.loads(run("models", "mv-lstm", "--json")[1])["settings"][0]["name"] == "hidden"
    assert json.loads(run("data", "list", "--json")[1])[0]["name"] == "wikiqa"


def test_a_model_is_told_by_name_with_its_equations_and_settings(run):
    code, out, _ = run("models", "mv-lstm")
    assert code == 0
    assert "s_ij = interaction of p_i and p_j" in out
    assert "--set k=5" in out
    assert "how many of the strongest interactions" in out


def test_evaluation_reads_and_writes_trec_files(run, data, model, tmp_path):
    files = ["--write-run", tmp_path / "run", "--write-qrels", tmp_path / "qrels"]
    code, out, _ = run("evaluate", model, data, *files)
    assert code == 0
    again = run("evaluate", "--run", tmp_path / "run", "--qrels", tmp_path / "qrels")
    assert again[0] == 0
    assert again[1] == out


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl"])
def test_scores_are_written_in_the_order_of_the_pairs(run, model, tmp_path, form):
    pairs = tmp_path / "p.jsonl"
    texts = [("bama delo", 'say "hi", bama'), ("你好", "👍 ok"), ("x", "y\tz")]
    pairs.write_text("".join(json.dumps({"left": a, "right": b}) + "\n" for a, b in texts), encoding="utf-8")
    code, _, _ = run("score", model, pairs, "--out", tmp_path / f"s.{form}", "--probability")
    assert code == 0
    written = (tmp_path / f"s.{form}").read_text(encoding="utf-8").splitlines()
    assert len(written) == 3 + (form != "jsonl")
    assert "你好" in written[-2]
    printed = run("score", model, pairs, "--json")[1].splitlines()
    from pairlight import Matcher

    expected = Matcher.load(model).predict(texts)
    np.testing.assert_allclose([json.loads(line)["score"] for line in printed], expected, rtol=1e-6)


def test_ranking_prints_the_best_lines_first(run, model, tmp_path):
    (tmp_path / "docs.txt").write_text("bama delo\n\nfiri godu\nkusi bama\n", encoding="utf-8")
    code, out, _ = run("rank", model, "bama delo", tmp_path / "docs.txt", "--top", "2")
    assert code == 0
    scores = [float(line.split()[1]) for line in out.splitlines()]
    assert len(scores) == 2
    assert scores == sorted(scores, reverse=True)
    found = json.loads(run("rank", model, "bama delo", tmp_path / "docs.txt", "--json")[1])
    assert {each["text"] for each in found} == {"bama delo", "firi godu", "kusi bama"}


BAD_ROWS = {
    "a label of yes": "left\tright\tlabel\na\tb\tyes\n",
    "a ragged row": "left\tright\tlabel\na\tb\n",
    "an empty text": "left\tright\tlabel\n\tb\t1\n",
    "a NUL byte": "left\tright\tlabel\na\x00\tb\t1\n",
    "an empty file": "",
    "a header alone": "left\tright\tlabel\n",
    "a wrong column": "question\tright\tlabel\na\tb\t1\n",
}


def one_line_and_code_2(result, *said: str) -> None:
    code, _, err = result
    lines = [line for line in err.splitlines() if line.strip()]
    assert code == 2, err
    assert lines[-1].startswith("pairlight: "), err
    assert "Traceback" not in err
    for words in said:
        assert words in lines[-1]


@pytest.mark.parametrize("what", BAD_ROWS)
def test_a_bad_file_is_one_clear_line_and_nothing_is_written(run, tmp_path, what):
    (tmp_path / "bad.tsv").write_text(BAD_ROWS[what], encoding="utf-8")
    one_line_and_code_2(run("train", tmp_path / "bad.tsv", "--out", tmp_path / "m", *SMALL), "bad.tsv")
    assert not (tmp_path / "m").exists()


def test_an_undecodable_row_is_told_with_its_line(run, tmp_path):
    (tmp_path / "bad.tsv").write_bytes(b"left\tright\tlabel\na\tb\t1\n\xff\xfe\tb\t0\n")
    one_line_and_code_2(run("train", tmp_path / "bad.tsv", "--out", tmp_path / "m"), "line 3")


def test_bad_rows_are_counted_and_skipped_where_asked_for(run, data, tmp_path):
    text = Path(data).read_text(encoding="utf-8")
    (tmp_path / "some.tsv").write_text(text + "a\tb\tyes\n\tb\t1\n", encoding="utf-8")
    code, _, err = run("train", tmp_path / "some.tsv", "--out", tmp_path / "m", "--skip-bad-rows", *SMALL)
    assert code == 0
    assert "Skipped 2 bad rows of 82" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "nowhere.tsv", "--out", "m"], "nowhere.tsv"),
        (["train", ".", "--out", "m"], "folder"),
        (["train", "DATA", "--out", "m", "--left", "Question"], "Question"),
        (["train", "DATA", "--out", "m", "--model", "mvlstm"], "Did you mean 'mv-lstm'"),
        (["train", "DATA", "--out", "m", "--set", "kk=3"], "no setting 'kk'"),
        (["train", "DATA", "--out", "m", "--set", "k=-3"], "k=-3"),
        (["train", "DATA", "--out", "m", "--set", "k"], "name=value"),
        (["train", "DATA", "--out", "m", "--set", "interaction=fuzzy"], "interaction='fuzzy'"),
        (["train", "DATA", "--out", "m", "--lr", "0"], "lr=0.0"),
        (["train", "DATA", "--out", "m", "--loss", "huber"], "loss='huber'"),
        (["train", "DATA", "--out", "m", "--vectors", "nowhere.vec"], "nowhere.vec"),
        (["train", "DATA", "--out", "m", "--init", "nowhere"], "nowhere"),
        (["train", "DATA", "--out", "m", "--resume"], "nothing to resume"),
        (["train", "wikiqa", "--out", "m", "--folder", "nowhere"], "nowhere"),
        (["train", "wikiqa", "--out", "m", "--skip-bad-rows"], "--skip-bad-rows is for tables of pairs, and wikiqa"),
        (["tune", "wikiqa", "--out", "m", "--left-id", "q"], "--left-id is for tables of pairs, and wikiqa is none"),
        (["compare", "DATA", "--out", "m", "--folder", "."], "--folder is for named sets"),
        (["evaluate", "MODEL", "DATA", "--folder", "."], "--folder is for named sets"),
        (["evaluate", "MODEL", "DATA", "--part", "dev"], "--part is for named sets"),
        (["evaluate", "nowhere", "DATA"], "nowhere"),
        (["evaluate", "MODEL"], "needs a model folder and data"),
        (["evaluate", "MODEL", "DATA", "--kind", "odd"], "odd"),
        (["evaluate", "--run", "r"], "--qrels"),
        (["evaluate", "--run", "r", "--qrels", "q", "--part", "dev"], "leave all but --qrels"),
        (["evaluate", "--run", "r", "--qrels", "q", "--left", "foo"], "leave all but --qrels"),
        (["evaluate", "MODEL", "DATA", "--kind", "pairs", "--keep-empty"], "--keep-empty is for ranking lists"),
        (["score", "MODEL", "DATA", "--json", "--out", "s.csv"], "give one of the two"),
        (["score", "MODEL", "DATA", "--out", "s.xml"], "s.xml"),
        (["rank", "MODEL", "q", "nowhere.txt"], "nowhere.txt"),
        (["rank", "MODEL", "q", "."], "."),
        (["models", "mvlstm"], "mv-lstm"),
        (["data", "show", "nothing"], "nothing"),
        (["compare", "DATA", "--out", "c", "--models", "mv-lstm,magic"], "magic"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_done_is_one_clear_line(run, data, model, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PAIRLIGHT_DATA", raising=False)
    given = [{"DATA": data, "MODEL": model}.get(each, each) for each in arguments]
    one_line_and_code_2(run(*given), said)
    assert not (tmp_path / "m" / "config.json").exists()


def test_a_folder_that_holds_something_is_not_overwritten(run, data, model, tmp_path):
    one_line_and_code_2(run("train", data, "--out", model, *SMALL), "--overwrite")
    (tmp_path / "thesis.txt").write_text("mine")
    one_line_and_code_2(run("train", data, "--out", tmp_path, "--overwrite", *SMALL), "no model")
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_a_full_disk_is_exit_code_1_and_nothing_is_half_written(run, data, tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    code, _, err = run("train", data, "--out", tmp_path / "m", *SMALL)
    assert code == 1
    assert "No space left on device" in err
    assert "Traceback" not in err
    assert [p for p in (tmp_path / "m").rglob("*") if p.is_file()] == []


def test_ctrl_c_leaves_a_usable_model_and_resume_goes_on(data, tmp_path):
    out = tmp_path / "m"
    command = [sys.executable, "-m", "pairlight", "train", data, "--out", str(out), *SMALL[:-2], "--patience", "0"]
    process = subprocess.Popen(
        [*command, "--epochs", "5000"],
        stdout=subprocess.PIPE,
        text=True,
        # A suite that runs in the background may have been started deaf to Ctrl-C, and its children with it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    log = out / "training" / "log.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (log.exists() and len(log.read_text().splitlines()) > 2):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "--resume" in said
    assert (out / "config.json").exists()
    done = len(log.read_text().splitlines())
    subprocess.run([*command, "--epochs", str(done + 1), "--resume"], check=True, capture_output=True)
    assert len(log.read_text().splitlines()) == done + 1


def test_ctrl_c_in_the_first_epoch_says_how_to_begin_anew(run, data, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pairlight.training.loop._epoch", interrupted)
    code, said, _ = run("train", data, "--out", tmp_path / "m", *SMALL)
    assert code == 0
    assert "--overwrite" in said
    assert "--resume" not in said
    monkeypatch.undo()
    assert run("train", data, "--out", tmp_path / "m", *SMALL, "--overwrite")[0] == 0


def labelled(path, labels, word="w"):
    rows = [f"{word}{n} bama\tdelo {n % 5} bama\t{label}" for n, label in enumerate(labels)]
    path.write_text("\n".join(["left\tright\tlabel", *rows]) + "\n", encoding="utf-8")
    return path


def test_right_pairs_alone_train_once_negatives_are_mined(run, tmp_path):
    right = labelled(tmp_path / "right.tsv", [1] * 40)
    assert "--negatives random" in run("train", right, "--out", tmp_path / "a", *SMALL, "--loss", "hinge")[2]
    code, said, _ = run("train", right, "--out", tmp_path / "b", *SMALL, "--negatives", "random")
    assert code == 0
    assert "dev   P@1" in said
    arguments = ["--models", "lstm-rnn", "--seeds", "1", "--jobs", "1", "--epochs", "1", "--vectors", "none"]
    assert run("compare", right, "--out", tmp_path / "c", *arguments, "--negatives", "random")[0] == 0


def test_what_cant_be_measured_is_told_before_training(run, data, tmp_path):
    right = labelled(tmp_path / "right.tsv", [1] * 40)
    code, _, told = run("train", data, "--test", right, "--out", tmp_path / "m", *SMALL)
    assert code == 2
    assert "pairlight: Nothing can be measured on --test. Each of the 40 pairs is a match" in told
    assert not (tmp_path / "m").exists()


def test_overwriting_touches_nothing_before_training_begins(run, data, model, tmp_path):
    kept = tmp_path / "m"
    shutil.copytree(model, kept)
    before = sorted(kept.rglob("*"))
    assert run("train", tmp_path / "missing.tsv", "--out", kept, "--overwrite")[0] == 2
    assert run("train", data, "--out", kept, "--overwrite", *SMALL, "--device", "warp")[0] == 2
    assert sorted(kept.rglob("*")) == before
    assert run("train", data, "--out", kept, "--overwrite", "--model", "bm25")[0] == 0
    assert not (kept / "training").exists()


def test_a_missing_model_is_told_as_missing(run, data, tmp_path):
    code, _, told = run("rank", tmp_path / "nowhere", "bama", data)
    assert code == 2
    assert "can't be read (No such file or directory): is this the folder of a saved model?" in told


def test_resuming_with_another_size_is_told_in_one_line(run, data, tmp_path, monkeypatch):
    from pairlight.training import fit as module

    real, calls = module._epoch, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(module, "_epoch", interrupted)
    arguments = ["train", data, "--out", tmp_path / "m", *SMALL[:-1], "3"]
    code, said, _ = run(*arguments, "--json")
    assert code == 0
    assert json.loads(said)["interrupted"] is True
    code, _, told = run(*arguments, "--resume", "--set", "hidden=7")
    assert code == 2
    assert "Can't resume with hidden=7" in told
    assert "size mismatch" not in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--metric", "accuracy"], "--metric accuracy does not measure ranking lists: give one of P@1"),
        (["--test", "PAIRS", "--dev", "DATA"], "here dev of ranking lists and test of labelled pairs"),
        (["--test", "RIGHT"], "Nothing can be measured on the test part. Each of the 40 pairs is a match"),
    ],
)
def test_comparing_by_what_cant_be_measured_is_told_before_training(run, data, tmp_path, arguments, said):
    named = {
        "DATA": data,
        "PAIRS": labelled(tmp_path / "pairs.tsv", [0, 1] * 20),
        "RIGHT": labelled(tmp_path / "right.tsv", [1] * 40),
    }
    given = [named.get(each, each) for each in arguments]
    code, _, told = run("compare", data, "--models", "bm25", "--seeds", "1", "--out", tmp_path / "c", *given)
    assert code == 2
    assert said in told
    assert not (tmp_path / "c" / "cells").exists()


def test_rated_pairs_are_trained_compared_and_explained_by_the_order_of_their_ratings(run, tmp_path):
    rated = labelled(tmp_path / "rated.tsv", [1, 2, 3, 4, 5] * 12)
    code, said, _ = run("train", rated, "--out", tmp_path / "m", "--json", *SMALL)
    assert code == 0
    assert list(json.loads(said)["dev"]["metrics"]) == ["Spearman"]
    assert run("evaluate", tmp_path / "m", rated, "--errors", tmp_path / "e.html")[0] == 0
    one_line_and_code_2(
        run("train", rated, "--out", tmp_path / "n", "--metric", "AP", *SMALL), "have no AP: choose one of Spearman"
    )
    board = ["compare", rated, "--models", "bm25,random", "--seeds", "1", "--jobs", "1", "--out", tmp_path / "c"]
    code, said, _ = run(*board)
    assert code == 0
    assert "| model | Spearman |" in said


def test_what_tune_and_compare_set_aside_is_never_the_same(run, tmp_path):
    path = write_tsv(tmp_path / "lists.tsv", overlap(30, seed=0))
    assert run("tune", path, "--model", "knrm", "--trials", "1", "--out", tmp_path / "t", *SMALL[-4:])[0] == 0
    assert run("compare", path, "--models", "bm25", "--seeds", "1", "--jobs", "1", "--out", tmp_path / "c")[0] == 0
    digests = json.loads((tmp_path / "c" / "data.json").read_text())
    studied = (tmp_path / "t" / "study.journal").read_text()
    assert digests["train"] in studied
    assert digests["dev"] in studied
    assert digests["test"] not in studied


def test_a_leaderboard_of_other_data_is_not_served(run, data, tmp_path):
    other = write_tsv(tmp_path / "other.tsv", overlap(20, seed=7))
    arguments = ["--models", "bm25", "--seeds", "1", "--jobs", "1", "--out", tmp_path / "c"]
    assert run("compare", data, *arguments)[0] == 0
    code, _, told = run("compare", other, *arguments)
    assert code == 2
    assert "holds a leaderboard of other data: give another folder to --out." in told
    assert run("compare", data, *arguments, "--metric", "auto")[0] == 0
    (tmp_path / "c" / "data.json").write_text("damaged")
    assert "holds a leaderboard of other data" in run("compare", data, *arguments)[2]
    shutil.rmtree(tmp_path / "c" / "cells")
    assert run("compare", other, *arguments)[0] == 0


def test_a_leaderboard_where_all_score_nothing_is_written(run, tmp_path):
    rows = [(f"a{n} b{n}", f"{side}{n} z{n}", side == "y") for n in range(30) for side in ("x", "y")]
    path = tmp_path / "none.tsv"
    lines = [f"{left}\t{right}\t{label:d}" for left, right, label in rows]
    path.write_text("\n".join(["left\tright\tlabel", *lines]), encoding="utf-8")
    arguments = ["--models", "bm25", "--seeds", "1", "--jobs", "1", "--metric", "P@1", "--out", tmp_path / "c"]
    assert run("compare", path, *arguments)[0] == 0
    assert "| bm25 | 0.000 ± 0.000 |" in (tmp_path / "c" / "leaderboard.md").read_text()
    assert (tmp_path / "c" / "leaderboard.json").exists()


def test_a_named_set_is_split_the_same_whatever_seed_trains_on_it(run, tmp_path, monkeypatch):
    asked = []

    def made(texts, *, seed, limit, progress):
        asked.append(seed)
        return dict(zip(("train", "dev", "test"), (overlap(9, seed=each) for each in range(3)), strict=True))

    monkeypatch.setattr("pairlight.datasets.catalogue.completion", made)
    monkeypatch.setattr("pairlight.datasets.catalogue.raw_texts", lambda name: [])
    assert run("train", "sotu", "--model", "bm25", "--seed", "5", "--out", tmp_path / "m")[0] == 0
    assert run("evaluate", tmp_path / "m", "sotu")[0] == 0
    assert run("compare", "sotu", "--models", "bm25", "--seeds", "1", "--jobs", "1", "--out", tmp_path / "c")[0] == 0
    assert run("data", "show", "sotu", "--seed", "3")[0] == 0
    assert asked == [0, 0, 0, 0]
    assert run("data", "show", "sotu", "--seed", "-1")[0] == 2


def test_a_named_set_keeps_its_own_parts(run, tmp_path):
    arguments = ["compare", "wikiqa", "--models", "bm25", "--dev", "d.tsv", "--out", tmp_path / "c"]
    assert "leave --dev and --test out" in run(*arguments)[2]


def test_a_training_that_is_killed_is_told(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr("pairlight.experiments.compare._run", killed)
    code, _, told = run("compare", data, "--models", "bm25", "--seeds", "1", "--jobs", "1", "--out", tmp_path / "c")
    assert code == 2
    assert "A training was killed" in told


def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_too_little_memory_is_told(run, data, tmp_path):
    arguments = ["train", data, "--out", tmp_path / "m", "--vectors", "none", "--epochs", "1"]
    code, _, told = run(*arguments, "--set", "hidden=1000000000")
    assert (code, "not enough memory" in told) == (1, True)
    code, _, told = run(*arguments, "--set", "hidden=100000000000000000000")
    assert (code, "is too large: it must be below 2147483648" in told) == (2, True)


def test_a_run_is_measured_without_a_model(run, data, model, tmp_path):
    code, _, told = run("evaluate", model, data, "--run", tmp_path / "r", "--qrels", tmp_path / "q")
    assert code == 2
    assert "--run is measured without a model" in told


def test_ids_come_out_with_the_scores(run, model, tmp_path):
    (tmp_path / "p.tsv").write_text("qid\tleft\tdid\tright\nq1\tbama\td7\tdelo\n", encoding="utf-8")
    said = run("score", model, tmp_path / "p.tsv", "--left-id", "qid", "--right-id", "did")[1].splitlines()
    assert said[0].split("\t") == ["left_id", "right_id", "left", "right", "score"]
    assert said[1].split("\t")[:4] == ["q1", "d7", "bama", "delo"]


def test_neighbours_are_looked_for_in_columns_of_the_usual_names(run, model, tmp_path):
    (tmp_path / "p.tsv").write_text("q\ta\ty\nbama\tdelo\t1\n", encoding="utf-8")
    code, _, told = run("explain", model, "bama", "delo", "--nearest", tmp_path / "p.tsv")
    assert code == 2
    assert "lacks a column left, right or label: rename its columns so." in told


def test_a_settings_file_of_another_shape_is_told(run, data, tmp_path):
    (tmp_path / "s.json").write_text('{"model": "mv-lstm", "settings": {}, "options": []}')
    code, _, told = run("train", data, "--settings", tmp_path / "s.json", "--out", tmp_path / "m")
    assert code == 2
    assert "lacks a model, settings or options" in told


def test_comparing_writes_a_leaderboard_and_runs_no_cell_twice(run, data, tmp_path):
    arguments = ["compare", data, "--models", "random,bm25,lstm-rnn", "--seeds", "2", "--out", tmp_path, "--jobs", "2"]
    arguments += ["--epochs", "1", "--vectors", "none"]
    assert run(*arguments)[0] == 0
    rows = json.loads((tmp_path / "leaderboard.json").read_text())["rows"]
    assert {row["model"]: row["seeds"] for row in rows} == {"random": 2, "bm25": 2, "lstm-rnn": 2}
    assert rows == sorted(rows, key=lambda row: -row["test"]["MAP"])
    assert "| bm25 | 1.000 ± 0.000 |" in (tmp_path / "leaderboard.md").read_text()
    assert "bm25" in (tmp_path / "leaderboard.html").read_text()
    cells = {file: file.stat().st_mtime_ns for file in (tmp_path / "cells").iterdir()}
    assert len(cells) == 6
    next(iter(cells)).unlink()
    assert run(*arguments)[0] == 0
    kept = [file for file, when in cells.items() if file.stat().st_mtime_ns == when]
    assert len(kept) == 5


def test_a_leaderboard_links_to_the_examples_where_models_disagree(run, data, tmp_path):
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

    for name in ("models", "disagreements"):  # as a folder of an older pairlight
        shutil.rmtree(tmp_path / name)
    code, said, told = run(*arguments)
    assert code == 0
    assert not (tmp_path / "models").exists()
    assert "disagreements" not in said
    assert "lstm-rnn: no model was kept" in told


def test_the_first_page_of_help_names_every_command(run):
    code, out, _ = run("--help")
    assert code == 0
    for name in ("train", "evaluate", "score", "rank", "compare", "models", "data", "build", "demo"):
        assert name in out


def test_every_training_option_is_a_flag(run):
    out = run("train", "--help")[1]
    from dataclasses import fields

    from pairlight.training.config import TrainingConfig

    for each in fields(TrainingConfig):
        assert f"--{each.name.replace('_', '-')}" in out


def test_threads_do_not_spin_for_long_unless_told_to(monkeypatch):
    monkeypatch.setattr("pairlight.cli.app", lambda: None)
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    main()
    assert os.environ["GOMP_SPINCOUNT"] == "3000"
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    main()
    assert os.environ["GOMP_SPINCOUNT"] == "7"


def test_a_training_that_fails_is_named_and_the_others_make_the_leaderboard(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr("pairlight.experiments.compare._run", all_but_knrm)
    arguments = ["--seeds", "1", "--jobs", "1", "--out", tmp_path / "c"]
    code, said, told = run("compare", data, "--models", "knrm,bm25", *arguments)
    assert code == 2
    assert "Failed: knrm seed 1: the loss is lost" in told
    assert told.splitlines()[-1] == "pairlight: 1 of the trainings failed, the first: knrm seed 1: the loss is lost"
    assert "| bm25 |" in said
    assert "| knrm |" not in said
    code, said, _ = run("compare", data, "--models", "knrm", *arguments)
    assert (code, said) == (2, "")


def all_but_knrm(work, cell):
    if cell.model == "knrm":
        raise InputError("the loss is lost")
    return compare._run(work, cell)  # in a process of its own, where it is the real one


def test_a_leaderboard_without_curves_does_not_show_older_ones(run, data, tmp_path):
    arguments = ["--seeds", "1", "--jobs", "1", "--vectors", "none", "--epochs", "1", "--out", tmp_path / "c"]
    assert "curves.png" in run("compare", data, "--models", "knrm", *arguments)[1]
    assert "curves.png" not in run("compare", data, "--models", "bm25", *arguments)[1]
    assert not (tmp_path / "c" / "curves.png").exists()


@pytest.mark.filterwarnings("always")
def test_warnings_of_trainings_and_of_json_commands_are_told_once(run, tmp_path):
    pairs = overlap(20, seed=0)
    long = Pairs.of(
        [f"{pairs.texts[i]} {'long ' * 60}" for i in pairs.left], [pairs.texts[i] for i in pairs.right], pairs.label
    )
    path = write_tsv(tmp_path / "long.tsv", long)
    small = ["--vectors", "none", "--epochs", "1", "--jobs", "1", "--models", "knrm", "--out", tmp_path / "c"]
    told = run("compare", path, "--seeds", "2", *small)[2]
    assert told.count("are longer than 50 words and were cut") == 2  # in train, and as many in dev as in test
    told = run("tune", path, "--model", "knrm", "--trials", "2", *small[:4], "--out", tmp_path / "t")[2]
    assert told.count("are longer than 50 words and were cut") == 2
    assert run("train", path, "--model", "bm25", "--out", tmp_path / "m")[0] == 0
    _, said, told = run("evaluate", tmp_path / "m", path, "--json")
    assert json.loads(said)["kind"] == "ranking"
    assert "were cut" in told


def test_a_text_a_line_is_ended_by_line_ends_alone(run, model, tmp_path):
    (tmp_path / "texts.txt").write_bytes("pay by card\u2028or cash\r\n\nask\x0c us\n".encode())
    found = json.loads(run("rank", model, "how to pay", tmp_path / "texts.txt", "--json")[1])
    assert {each["text"] for each in found} == {"pay by card\u2028or cash", "ask\x0c us"}
