"""`pairlight train`: from a file of pairs to a model folder, and what happens when it is stopped."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import pytest

from cli.helpers import SMALL, kill_at, write_labels
from pairlight.core.files import is_leftover
from pairlight.training.config import TrainingConfig
from pairlight.training.examples import RankingExamples

BAD_FILES = {
    "a label of maybe": "left\tright\tlabel\na\tb\tmaybe\n",
    "a row with too few columns": "left\tright\tlabel\na\tb\n",
    "an empty text": "left\tright\tlabel\n\tb\t1\n",
    "a NUL byte": "left\tright\tlabel\na\x00\tb\t1\n",
    "nothing": "",
    "only a header": "left\tright\tlabel\n",
    "an unknown column": "subject\tright\tlabel\na\tb\t1\n",
}


def test_training_prints_metrics_and_writes_a_model_with_its_log(run, data, tmp_path):
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


def test_results_as_json_have_the_metrics_of_every_split(run, data, tmp_path):
    code, out, _ = run("train", data, "--out", tmp_path / "m", "--test", data, "--json", *SMALL)
    assert code == 0
    found = json.loads(out)
    assert set(found) == {"model", "interrupted", "best", "start", "baseline", "notes", "dev", "test"}
    assert set(found["baseline"]) == {"bm25"}
    assert 0 <= found["start"] <= found["best"] <= 1
    assert "Dev has only" in " ".join(found["notes"])
    assert found["interrupted"] is False
    assert set(found["dev"]["metrics"]) >= {"MAP", "P@1"}


def test_the_last_lines_compare_the_model_with_bm25_and_with_the_untrained_model(run, data, tmp_path):
    said = run("train", data, "--dev", data, "--out", tmp_path / "m", *SMALL)[1].splitlines()
    history = json.loads((tmp_path / "m" / "config.json").read_text())["history"]
    bm25, best, start = history["baseline"]["bm25"], history["best"], history["start"]
    assert said[-2:] == [f"dev MAP {best:.4f} (BM25 {bm25:.4f}, untrained {start:.4f})", f"Saved to {tmp_path / 'm'}"]
    assert f"MAP {best:.4f}" in said[0]
    run("train", data, "--dev", data, "--out", tmp_path / "bm25", "--model", "bm25")
    assert f"| dev | MAP | {bm25:.4f} |" in (tmp_path / "bm25" / "README.md").read_text()


def test_a_model_that_continues_from_another_is_compared_with_it(run, data, tmp_path):
    run("train", data, "--dev", data, "--out", tmp_path / "a", *SMALL)
    best = json.loads((tmp_path / "a" / "config.json").read_text())["history"]["best"]
    said = run("train", data, "--dev", data, "--out", tmp_path / "b", "--init", tmp_path / "a", *SMALL)[1]
    assert f"before training {best:.4f})" in said


def test_a_baseline_is_not_compared_with_itself(run, data, tmp_path):
    for name in ("bm25", "random"):
        said = run("train", data, "--dev", data, "--out", tmp_path / name, "--model", name)[1].splitlines()
        assert len(said) == 2
        assert said[1].startswith("Saved to")


def test_advice_is_printed_as_notes(run, data, tmp_path):
    err = run("train", data, "--dev", data, "--out", tmp_path / "m", *SMALL)[2]
    assert "Note: Dev has only 20 lists with a positive, so the best epoch is largely chance: use at least 30." in err


def test_every_training_option_is_a_flag(run):
    out = run("train", "--help")[1]
    for each in fields(TrainingConfig):
        assert f"--{each.name.replace('_', '-')}" in out


def test_flags_reach_the_trainer(run, data, tmp_path):
    options = ["--negatives-per-positive", "2", "--init-scale", "0.2", "--max-grad-norm", "3", "--no-normalize"]
    assert run("train", data, "--out", tmp_path / "m", *SMALL, *options, "--loss", "listwise")[0] == 0
    training = json.loads((tmp_path / "m" / "config.json").read_text())["training"]
    assert training["negatives_per_positive"] == 2
    assert training["init_scale"] == 0.2
    assert training["max_grad_norm"] == 3.0
    assert training["normalize"] is False
    assert training["loss"] == "listwise"


@pytest.mark.parametrize("content", BAD_FILES)
def test_a_bad_file_is_one_line_and_nothing_is_written(fails, tmp_path, content):
    (tmp_path / "bad.tsv").write_text(BAD_FILES[content], encoding="utf-8")
    fails(["train", tmp_path / "bad.tsv", "--out", tmp_path / "m", *SMALL], "bad.tsv")
    assert not (tmp_path / "m").exists()


def test_a_row_that_is_not_utf_8_is_named_by_its_line(fails, tmp_path):
    (tmp_path / "bad.tsv").write_bytes(b"left\tright\tlabel\na\tb\t1\n\xff\xfe\tb\t0\n")
    fails(["train", tmp_path / "bad.tsv", "--out", tmp_path / "m"], "line 3", "(option --skip-bad-rows)")


def test_bad_rows_are_counted_and_skipped_on_request(run, data, tmp_path):
    text = Path(data).read_text(encoding="utf-8")
    (tmp_path / "some.tsv").write_text(text + "a\tb\tmaybe\n\tb\t1\n", encoding="utf-8")
    code, _, err = run("train", tmp_path / "some.tsv", "--out", tmp_path / "m", "--skip-bad-rows", *SMALL)
    assert code == 0
    assert "Skipped 2 bad rows of 82" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.tsv"], "nowhere.tsv"),
        (["."], "folder"),
        (["DATA", "--left", "Question"], "no column 'Question'"),
        (["DATA", "--left", "Question"], "(option --left)"),
        (["DATA", "--model", "mvlstm"], "Did you mean 'mv-lstm'"),
        (["DATA", "--set", "kk=3"], "No setting named 'kk'"),
        (["DATA", "--set", "k=-3"], "k=-3"),
        (["DATA", "--set", "self=1"], "No setting named 'self'"),
        (["DATA", "--set", "model=1"], "No setting named 'model'"),
        (["DATA", "--set", "hidden=99999999999999999999"], "hidden=99999999999999999999 is out of range"),
        (["DATA", "--lr", "1e39"], "lr=1e+39 is out of range"),
        (["DATA", "--threads", "99999999999999999999"], "cores, so use at most"),
        (["DATA", "--set", "k"], "'k' is not of the form name=value: write for example k=5. (option --set)"),
        (["DATA", "--set", "interaction=fuzzy"], "interaction='fuzzy'"),
        (["DATA", "--lr", "0"], "lr=0.0"),
        (["DATA", "--loss", "huber"], "loss='huber'"),
        (["DATA", "--vectors", "nowhere.vec"], "nowhere.vec"),
        (["DATA", "--init", "nowhere"], "nowhere"),
        (["DATA", "--resume"], "no checkpoint to resume"),
        (["wikiqa", "--folder", "nowhere"], "nowhere"),
        (["wikiqa", "--folder", "nowhere"], "(option --folder)"),
        (["wikiqa", "--skip-bad-rows"], "for tables of pairs, and wikiqa is not one: remove it. (option --skip-bad-r"),
        (["DATA", "--settings", "nowhere.json"], "nowhere.json cannot be read"),
        (["DATA", "--settings", "nowhere.json"], "(option --settings)"),
        (["DATA", "--settings", "DATA"], "is damaged (not valid JSON): give a file written by `tune`"),
        (["DATA", "--settings", "self.json", "--model", "bm25"], "No setting named 'self'"),
        (["DATA", "--settings", "deep.json"], "is damaged (not valid JSON)"),
        (["DATA", "--settings", "infinite.json"], "is damaged (not valid JSON)"),
        (["DATA", "--settings", "list.json"], "not an object): give a file written by `tune`"),
        (["DATA", "--settings", "other.json", "--model", "bm25"], "has settings for lstm-rnn, not for bm25"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_is_one_line(fails, data, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PAIRLIGHT_DATA", raising=False)
    (tmp_path / "list.json").write_text('{"model": "mv-lstm", "settings": {}, "options": []}')
    (tmp_path / "other.json").write_text('{"model": "lstm-rnn", "settings": {}, "options": {}}')
    (tmp_path / "self.json").write_text('{"model": "bm25", "settings": {"self": 1, "model": 2}, "options": {}}')
    (tmp_path / "deep.json").write_text('{"model": ' + "[" * 100_000)
    (tmp_path / "infinite.json").write_text('{"model": "mv-lstm", "settings": {}, "options": {"init_scale": Infinity}}')
    given = [{"DATA": data}.get(each, each) for each in arguments]
    fails(["train", *given, *([] if "--model" in given else ["--model", "mv-lstm"]), "--out", "m"], words)
    assert not (tmp_path / "m" / "config.json").exists()


def test_a_file_name_that_is_not_utf_8_is_kept_in_the_card_with_question_marks(run, data, tmp_path):
    odd = tmp_path / os.fsdecode(b"caf\xe9.tsv")
    shutil.copy(data, odd)
    out = tmp_path / os.fsdecode(b"mod\xe8le")
    code, _, err = run("train", odd, "--out", out, *SMALL)
    assert (code, "Traceback" in err) == (0, False), err
    assert "caf?.tsv" in (out / "README.md").read_text("utf-8")
    assert run("score", out, odd, "--out", tmp_path / os.fsdecode(b"\xe9.tsv"))[0] == 0
    assert run("rank", out, "bama", odd, "--text", "right")[0] == 0


def test_a_folder_with_other_contents_is_not_overwritten(fails, data, model, tmp_path):
    fails(["train", data, "--out", model, *SMALL], "not empty", "(option --overwrite)")
    fails(["train", data, "--out", data, *SMALL], "is a file", "(option --out)")
    (tmp_path / "thesis.txt").write_text("mine")
    fails(["train", data, "--out", tmp_path, "--overwrite", *SMALL], "something other than a model", "(option --out)")
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_overwriting_touches_nothing_before_training_begins(run, data, model, tmp_path):
    kept = tmp_path / "m"
    shutil.copytree(model, kept)
    before = sorted(kept.rglob("*"))
    assert run("train", tmp_path / "missing.tsv", "--out", kept, "--overwrite")[0] == 2
    assert run("train", data, "--out", kept, "--overwrite", *SMALL, "--device", "warp")[0] == 2
    assert sorted(kept.rglob("*")) == before
    assert run("train", data, "--out", kept, "--overwrite", "--model", "bm25")[0] == 0
    assert not (kept / "training").exists()


def test_a_full_disk_is_exit_code_1_and_no_file_is_left_incomplete(run, data, tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    code, _, err = run("train", data, "--out", tmp_path / "m", *SMALL)
    assert code == 1
    assert "No space left on device" in err
    assert "Traceback" not in err
    assert [p for p in (tmp_path / "m").rglob("*") if p.is_file()] == []


def test_too_little_memory_is_one_line_about_the_model_or_the_batch(run, fails, data, tmp_path, monkeypatch):
    arguments = ["train", data, "--model", "mv-lstm", "--out", tmp_path / "m", "--vectors", "none", "--epochs", "1"]

    def too_large(*_, **__):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    with monkeypatch.context() as patch:
        patch.setattr("pairlight.models.mv_lstm.MVLSTM.match", too_large)
        code, _, err = run(*arguments)
        assert code == 1
        assert err.splitlines()[-1] == "pairlight: There is not enough memory: use smaller values of --set, --batch."
    monkeypatch.setattr("pairlight.models.mv_lstm.MVLSTM.__init__", too_large)
    fails(arguments, "There is not enough memory for this mv-lstm: use smaller settings", "(option --set)")


def test_ctrl_c_leaves_a_usable_model_and_resume_continues(data, tmp_path):
    out = tmp_path / "m"
    command = [sys.executable, "-m", "pairlight", "train", data, "--out", str(out), *SMALL[:-2], "--patience", "0"]
    process = subprocess.Popen(
        [*command, "--epochs", "5000"],
        stdout=subprocess.PIPE,
        text=True,
        # A test suite that runs in the background may ignore Ctrl-C, and its children would inherit that.
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


@pytest.fixture(scope="module")
def killed_before_a_checkpoint(data, tmp_path_factory):
    """The folder of a run that was killed when it wrote its first checkpoint."""
    out = tmp_path_factory.mktemp("killed") / "m"
    kill_at("checkpoint.safetensors", "train", data, "--out", out, *SMALL)
    assert [path.name for path in (out / "training").iterdir() if not is_leftover(path.name)] == ["log.jsonl"]
    return out


@pytest.mark.parametrize("options", [[], ["--resume"], ["--overwrite"]], ids=["plain", "resume", "overwrite"])
def test_a_run_that_was_killed_before_its_first_checkpoint_continues(
    run, data, tmp_path, killed_before_a_checkpoint, options
):
    assert run("train", data, "--out", tmp_path / "undisturbed", *SMALL)[0] == 0
    out = tmp_path / "m"
    shutil.copytree(killed_before_a_checkpoint, out)
    code, _, err = run("train", data, "--out", out, *SMALL, *options)
    assert code == 0, err
    names = [sorted(path.name for path in folder.rglob("*")) for folder in (out, tmp_path / "undisturbed")]
    assert names[0] == names[1]
    expected = (tmp_path / "undisturbed" / "model.safetensors").read_bytes()
    assert (out / "model.safetensors").read_bytes() == expected


def test_ctrl_c_in_the_first_epoch_prints_how_to_restart(run, data, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(RankingExamples, "epoch", interrupted)
    code, said, _ = run("train", data, "--test", data, "--out", tmp_path / "m", *SMALL)
    assert code == 0
    assert "The test pairs were not used" in said
    assert "test  P@1" not in said
    assert "--overwrite" in said
    assert "--resume" not in said
    monkeypatch.undo()
    assert run("train", data, "--out", tmp_path / "m", *SMALL, "--overwrite")[0] == 0


def test_resuming_with_another_size_is_one_line(run, fails, data, tmp_path, monkeypatch):
    real, calls = RankingExamples.epoch, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) > 2:  # the first is for the fit of the evidence
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(RankingExamples, "epoch", interrupted)
    arguments = ["train", data, "--test", data, "--out", tmp_path / "m", *SMALL[:-1], "3"]
    code, said, _ = run(*arguments, "--json")
    assert code == 0
    assert json.loads(said)["interrupted"] is True
    assert "test" not in json.loads(said)
    assert "| test |" not in (tmp_path / "m" / "README.md").read_text()
    fails([*arguments, "--resume", "--set", "hidden=7"], "hidden=7", "resume")


def test_a_resumed_run_evaluates_test_when_it_is_finished(run, data, tmp_path, monkeypatch):
    real, calls = RankingExamples.epoch, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) > 2:  # the first is for the fit of the evidence
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(RankingExamples, "epoch", interrupted)
    arguments = ["train", data, "--test", data, "--out", tmp_path / "m", *SMALL[:-1], "3"]
    said = run(*arguments)[1]
    assert "--resume" in said
    assert "The test pairs were not used" in said
    assert "test  P@1" not in said
    monkeypatch.undo()
    said = run(*arguments, "--resume")[1]
    assert said.count("test  P@1") == 1
    assert "| test | MAP |" in (tmp_path / "m" / "README.md").read_text()


def test_positive_pairs_alone_can_be_trained_on_with_mined_negatives(run, fails, tmp_path):
    positives = write_labels(tmp_path / "positives.tsv", [1] * 40)
    for number, options in enumerate(([], ["--negatives", "bm25"])):
        code, said, err = run("train", positives, "--out", tmp_path / str(number), *SMALL, *options)
        assert code == 0
        assert "dev   P@1" in said
        assert (f"{positives} has no negatives: negatives are drawn at random" in err) == (not options)
        assert "No dev set given: 4 of 40 lists are held out as one." in err
    fails(["train", positives, "--out", tmp_path / "m", *SMALL, "--negatives", "list"], "All 4 pairs are positive")


def test_a_faq_of_eight_lines_needs_no_flag_and_no_label(run, fails, tmp_path):
    lines = ["question,answer", *(f"how do I get number {n}?,ask for the box {n} at the desk" for n in range(8))]
    (tmp_path / "faq.csv").write_text("\n".join(lines) + "\n")
    code, said, err = run("train", tmp_path / "faq.csv", "--out", tmp_path / "m", *SMALL)
    assert code == 0, err
    assert "the columns used are left=question, right=answer." in err
    assert "has no label column, so every pair is a positive: negatives are drawn at random" in err
    assert "No dev set given: 2 of 8 lists are held out as one." in err
    assert "dev   P@1" in said
    (tmp_path / "two.csv").write_text("\n".join(lines[:4]) + "\n")
    fails(["train", tmp_path / "two.csv", "--out", tmp_path / "n", *SMALL], "give at least 4 different left texts")
    fails(
        ["train", tmp_path / "faq.csv", "--label", "good", "--out", tmp_path / "n", *SMALL],
        "has no column 'good'",
        "(option --label)",
    )


def test_dev_and_test_files_need_labels_where_the_training_file_has_them(run, fails, data, tmp_path):
    lines = ["left,right", *(f"number {n},box {n}" for n in range(9))]
    (tmp_path / "p.csv").write_text("\n".join(lines) + "\n")
    fails(["train", data, "--dev", tmp_path / "p.csv", "--out", tmp_path / "m", *SMALL], "has no column 'label'")
    files = ["--dev", tmp_path / "p.csv", "--test", tmp_path / "p.csv"]
    code, said, _ = run("train", tmp_path / "p.csv", *files, "--out", tmp_path / "m", *SMALL)
    assert code == 0
    assert "test  P@1" in said


def test_pairs_that_cannot_be_evaluated_are_found_before_training(fails, data, tmp_path):
    positives = write_labels(tmp_path / "positives.tsv", [1] * 40)
    fails(
        ["train", data, "--test", positives, "--out", tmp_path / "m", *SMALL],
        "No metric can be computed on the test pairs. All 40 pairs are positive",
    )
    assert not (tmp_path / "m").exists()


def test_rated_pairs_are_evaluated_by_the_order_of_their_ratings(run, fails, tmp_path):
    rated = write_labels(tmp_path / "rated.tsv", [1, 2, 3, 4, 5] * 12)
    code, said, _ = run("train", rated, "--out", tmp_path / "m", "--json", *SMALL)
    assert code == 0
    assert list(json.loads(said)["dev"]["metrics"]) == ["Spearman", "Pearson"]
    fails(
        ["train", rated, "--out", tmp_path / "n", "--metric", "AP", *SMALL],
        "AP cannot be computed from these labels: choose from Spearman, Pearson",
    )
