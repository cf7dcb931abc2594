"""`pairlight calibrate`: the calibration of a saved model is replaced, and nothing else."""

import json
import os
import shutil

import numpy as np
import pytest

from cli.helpers import write_labels, write_pairs
from pairlight import Matcher
from toy_pairs import overlap


@pytest.fixture
def copy(model, tmp_path):
    """A model folder of its own, whose calibration may be changed."""
    shutil.copytree(model, tmp_path / "m")
    return tmp_path / "m"


def test_the_threshold_and_metrics_are_printed_and_saved(run, copy, tmp_path):
    path = write_pairs(tmp_path / "dev.tsv", overlap(30, seed=5))
    before = {file.name: file.read_bytes() for file in copy.iterdir()}
    old = Matcher.load(copy)
    code, said, _ = run("calibrate", copy, path)
    assert code == 0
    new = Matcher.load(copy)
    assert said.splitlines()[0] == f"Threshold {new.threshold:.4f}: pairs with this score or more are positive"
    assert said.splitlines()[1].startswith("accuracy ")
    assert said.splitlines()[1].endswith("(on these 120 pairs)")
    assert new.calibration == old.calibrate(path).calibration
    changed = [name for name, content in before.items() if (copy / name).read_bytes() != content]
    assert changed == ["config.json"]
    config, earlier = json.loads((copy / "config.json").read_text()), json.loads(before["config.json"])
    assert {name for name in config if config[name] != earlier[name]} == {"calibration", "sha256"}


def test_graded_labels_get_a_scale_that_score_uses(run, fails, copy, tmp_path):
    rated = write_labels(tmp_path / "rated.tsv", [1, 2, 3, 4, 5] * 6)
    fails(["score", copy, rated, "--as-label", "--probability", "--score-column", "label"], "has a column 'label'")
    found = json.loads(run("calibrate", copy, rated, "--json")[1])
    assert set(found) == {"model", "calibration", "pairs", "metrics"}
    assert (found["calibration"]["label_scale"]["low"], found["calibration"]["label_scale"]["high"]) == (1, 5)
    assert list(found["metrics"]) == ["Spearman", "Pearson"]
    assert run("calibrate", copy, rated)[1].splitlines()[0] == "Labels from 1 to 5"
    header, *lines = run("score", copy, rated, "--as-label")[1].splitlines()
    assert header.split("\t") == ["left", "right", "label", "score", "predicted_label"]
    labels = [float(line.split("\t")[4]) for line in lines]
    assert all(1 <= label <= 5 for label in labels)
    np.testing.assert_allclose(labels, Matcher.load(copy).predict(rated, as_label=True), rtol=1e-6)
    fails(["score", copy, rated, "--probability"], "all on one side of 0")


def test_without_grades_a_label_is_0_or_1(run, model, data):
    lines = run("score", model, data, "--as-label")[1].splitlines()
    assert {line.split("\t")[4] for line in lines[1:]} <= {"0.0", "1.0"}


def test_pairs_that_cannot_be_calibrated_on_leave_the_model_as_it_was(fails, copy, tmp_path):
    before = (copy / "config.json").read_bytes()
    positives = write_labels(tmp_path / "positives.tsv", [1] * 9)
    fails(["calibrate", copy, positives], "All 9 pairs are positive", "(option --label)")
    fails(["calibrate", tmp_path / "nowhere", positives], "nowhere is not a model")
    fails(["calibrate", copy, tmp_path / "nowhere.tsv"], "does not exist")
    assert (copy / "config.json").read_bytes() == before


def test_a_faq_without_labels_calibrates_with_random_negatives(run, copy, tmp_path):
    path = tmp_path / "faq.csv"
    lines = ["question,answer", *(f"how do I get number {n}?,ask for the box {n} at the desk" for n in range(8))]
    path.write_text("\n".join(lines) + "\n")
    found = json.loads(run("calibrate", copy, path, "--json")[1])
    assert found["pairs"] == 8 * 8  # each positive with the seven other answers
    assert found["calibration"]["threshold"] is not None


def test_a_model_folder_is_never_left_incomplete(run, copy, tmp_path, monkeypatch):
    path = write_pairs(tmp_path / "dev.tsv", overlap(30, seed=5))
    before = (copy / "config.json").read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert run("calibrate", copy, path)[0] == 1
    assert (copy / "config.json").read_bytes() == before
    assert sorted(file.name for file in copy.iterdir() if file.name.startswith(".")) == []
