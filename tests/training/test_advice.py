"""Training compares itself with BM25 and with its start, and says so when the model does not learn."""

from dataclasses import replace

import numpy as np
import pytest

from pairlight.data.pairs import Pairs
from pairlight.evaluation.dev_metric import dev_metric
from pairlight.inference.history import EpochRecord, History
from pairlight.matcher import Matcher
from pairlight.models.base import PAPER_TRAINING
from pairlight.training.advice import advice
from pairlight.training.config import TrainingConfig
from toy_pairs import overlap

DEV = overlap(40, seed=5)
CONFIG = TrainingConfig.of(PAPER_TRAINING, {"metric": "MAP", "epochs": 3, "patience": 0})


def history(losses=(1.0, 0.8, 0.7), metrics=(0.6, 0.7, 0.65), start=0.5, bm25=0.6) -> History:
    rows = enumerate(zip(losses, metrics, strict=True), 1)
    epochs = [EpochRecord(number, loss, metric, 1.0) for number, (loss, metric) in rows]
    best = max((start, *metrics))
    return History(epochs, (start, *metrics).index(best), best, start=start, baseline={"bm25": bm25})


def test_a_model_that_learns_needs_no_advice():
    assert advice(history(), CONFIG, DEV) == ()


def test_a_loss_that_does_not_move_is_reported_with_what_to_change():
    (note,) = advice(history(losses=(0.99997, 0.9998, 0.9997)), CONFIG, DEV)
    assert note == (
        "The loss has hardly moved, from 0.99997 in epoch 1 to 0.99970 in epoch 3: raise lr=0.03 or lower epsilon=0.1."
    )
    adam = TrainingConfig.of({}, CONFIG.as_dict() | {"optimizer": "adam"})
    (note,) = advice(history(losses=(0.99997, 0.9998, 0.9997)), adam, DEV)
    assert note.endswith("raise lr=0.03.")


def test_a_loss_of_zero_or_of_a_single_epoch_is_not_reported():
    assert advice(history(losses=(0.0, 0.0, 0.0)), CONFIG, DEV) == ()
    assert advice(history(losses=(1.0,), metrics=(0.7,)), CONFIG, DEV) == ()


def test_a_small_dev_set_is_reported_in_lists_or_in_pairs():
    assert advice(history(), CONFIG, overlap(30, seed=1)) == ()
    (note,) = advice(history(), CONFIG, overlap(29, seed=1))
    assert note == "Dev has only 29 lists with a positive, so the best epoch is largely chance: use at least 30."
    labeled = TrainingConfig.of({}, CONFIG.as_dict() | {"metric": "accuracy"})
    (note,) = advice(history(), labeled, Pairs.of(["a"] * 29, ["b"] * 29, [1.0] * 29))
    assert note.startswith("Dev has only 29 pairs, ")


def test_a_best_epoch_that_is_the_last_one_asks_for_more_epochs():
    (note,) = advice(history(metrics=(0.6, 0.7, 0.8)), CONFIG, DEV)
    assert note == "The best epoch, 3, is the last one, so the model may still improve: train longer than epochs=3."


def test_a_run_that_was_stopped_is_not_asked_for_more_epochs():
    stopped = history(losses=(1.0, 0.8), metrics=(0.6, 0.7))
    assert stopped.best_epoch == len(stopped.epochs)
    assert advice(stopped, CONFIG, DEV) == ()


def test_training_that_does_not_help_is_reported():
    (note,) = advice(history(start=0.75), CONFIG, DEV)
    assert note == (
        "Training did not help: dev MAP was 0.7500 before it and at most 0.7000 after an epoch, so the model is kept "
        "as it was; lower lr=0.03, or use more training pairs."
    )


def test_a_start_that_leaves_nothing_to_learn_needs_no_advice():
    assert advice(history(metrics=(1.0, 1.0, 1.0), start=1.0), CONFIG, DEV) == ()


def test_what_the_fit_of_the_evidence_reached_counts_as_before_training():
    fitted = replace(history(start=0.4), best_epoch=0, best=0.72)
    (note,) = advice(fitted, CONFIG, DEV)
    assert note.startswith("Training did not help: dev MAP was 0.7200 before it and at most 0.7000 after an epoch")


def test_a_model_that_has_not_moved_is_not_told_to_raise_and_to_lower_the_learning_rate():
    moved, helped = advice(history(losses=(1.0, 1.0, 1.0), start=0.75), CONFIG, DEV)
    assert "raise lr=0.03" in moved
    assert helped.endswith("so the model is kept as it was; use more training pairs.")


def test_a_model_below_bm25_is_reported():
    assert advice(history(bm25=0.7), CONFIG, DEV) == ()
    (note,) = advice(history(bm25=0.71), CONFIG, DEV)
    assert note == (
        "The model is below BM25: dev MAP 0.7000 against 0.7100; use more training pairs, or use the model bm25."
    )


def test_a_model_below_bm25_is_told_what_it_lacks():
    (note,) = advice(history(bm25=0.71), replace(CONFIG, vectors="none"), DEV, truncated=0.04)
    assert "0.7100; use pretrained vectors, or use more training pairs, or" in note
    (note,) = advice(history(bm25=0.71), CONFIG, DEV, truncated=0.06)
    assert "0.7100; read more of the long texts than max_length=50 words, or use more" in note


def test_a_run_without_an_epoch_has_no_advice():
    assert advice(History(best_epoch=0, best=0.1, start=0.1, baseline={"bm25": 0.9}), CONFIG, overlap(5, seed=1)) == ()


OPTIONS = {"epochs": 2, "vectors": "none", "optimizer": "adam", "lr": 1e-9}


def test_fit_collects_the_advice_and_prints_it_only_with_progress(pairs, capsys):
    model = {"hidden": 4, "k": 2, "dim": 4, "evidence": False}
    matcher = Matcher("mv-lstm", **model).fit(pairs, overlap(12, seed=1), progress=False, **OPTIONS)
    assert [note.split(":")[0].split(",")[0] for note in matcher.notes] == [
        "The loss has hardly moved",
        "Dev has only 12 lists with a positive",
        "Training did not help",
        "The model is below BM25",
    ]
    assert capsys.readouterr() == ("", "")
    Matcher("mv-lstm", **model).fit(pairs, overlap(12, seed=1), **OPTIONS)
    said = capsys.readouterr().err
    assert [note for note in matcher.notes if f"Note: {note}" not in said] == []


def test_the_baseline_is_what_bm25_reaches_on_dev(pairs):
    trained = Matcher("mv-lstm", hidden=4, k=2, dim=4).fit(pairs, DEV, progress=False, **OPTIONS)
    bm25 = Matcher("bm25").fit(pairs, DEV, progress=False)
    assert trained.history.baseline == {"bm25": dev_metric(DEV, bm25.predict(DEV), "MAP")}
    assert (bm25.history.baseline, bm25.notes) == ({}, ())


@pytest.mark.parametrize("metric", ["accuracy", "Spearman"])
def test_the_baseline_has_the_metric_that_selects_the_epoch(metric):
    grades = [0.0, 1.0] if metric == "accuracy" else [0.0, 1.0, 2.0]
    rows = [(f"w{i} bama", f"bama w{i if i % 2 else 99}", grades[i % len(grades)]) for i in range(60)]
    pairs = Pairs.of(*(list(column) for column in zip(*rows, strict=True)))
    trained = Matcher("mv-lstm", hidden=4, k=2, dim=4).fit(pairs, pairs, progress=False, **OPTIONS)
    assert trained.config.metric == metric
    scores = Matcher("bm25").fit(pairs, pairs, progress=False).predict(pairs)
    assert trained.history.baseline == {"bm25": dev_metric(pairs, scores, metric)}


def test_the_baseline_does_not_change_the_weights_and_can_be_left_out(pairs):
    options = OPTIONS | {"lr": 0.01}
    one, two = (
        Matcher("mv-lstm", hidden=4, k=2, dim=4).fit(pairs, DEV, baseline=baseline, progress=False, **options)
        for baseline in (True, False)
    )
    assert two.history.baseline == {}
    assert np.array_equal(one.predict(DEV), two.predict(DEV))
