"""Training is reproducible, stops safely, and resumes as if it had never stopped."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load, save

from pairlight.core.errors import InputError
from pairlight.matcher import Matcher
from pairlight.training import checkpoint, loop
from pairlight.training.interrupt import delay_interrupt
from toy_pairs import overlap

SETTINGS = {"interaction": "tensor", "hidden": 6, "channels": 2, "dropout": 0.2, "evidence": False}
OPTIONS = {"epochs": 4, "patience": 0, "vectors": "none", "lr": 0.05, "epsilon": 1e-10, "batch": 16, "progress": False}
DEV = overlap(40, seed=0)  # the training lists, so that every epoch is better than the one before it


def trained(pairs, **changes) -> Matcher:
    return Matcher("mv-lstm", **SETTINGS, dim=8).fit(pairs, DEV, **(OPTIONS | changes))


def weights(matcher: Matcher) -> dict[str, torch.Tensor]:
    return matcher.scorer.model.state_dict()


def same(one: Matcher, two: Matcher) -> bool:
    return all(torch.equal(a, b) for a, b in zip(weights(one).values(), weights(two).values(), strict=True))


@pytest.mark.parametrize("optimizer", ["adagrad", "adam", "adamw"])
def test_the_seed_fixes_every_weight(pairs, optimizer):
    one = trained(pairs, optimizer=optimizer, epochs=2)
    assert same(one, trained(pairs, optimizer=optimizer, epochs=2))
    assert not same(one, trained(pairs, optimizer=optimizer, epochs=2, seed=2))


def test_skip_gram_vectors_are_fixed_by_the_seed_too(pairs):
    assert same(trained(pairs, epochs=1, vectors="skip-gram"), trained(pairs, epochs=1, vectors="skip-gram"))


@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
def test_a_resumed_run_ends_as_if_never_stopped(pairs, tmp_path, optimizer):
    whole = trained(pairs, optimizer=optimizer)
    trained(pairs, optimizer=optimizer, epochs=2, folder=tmp_path)
    rest = trained(pairs, optimizer=optimizer, folder=tmp_path, resume=True)
    assert same(whole, rest)
    assert rest.history.best_epoch > 2  # the weights that are compared are those of the resumed part
    assert [e.loss for e in rest.history.epochs] == [e.loss for e in whole.history.epochs]
    assert rest.history.start == whole.history.start is not None
    assert (rest.history.best_epoch, rest.history.best) == (whole.history.best_epoch, whole.history.best)


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
import torch
torch.set_num_threads(1)
from toy_pairs import overlap
from training.test_loop import trained
trained(overlap(40, seed=0), epochs=500, folder=Path(sys.argv[1]))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_process_resumes_as_if_never_stopped(pairs, tmp_path, how):
    tests = str(Path(__file__).parent.parent)
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), tests])
    log = tmp_path / "log.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not log.exists() or len(log.read_text().splitlines()) < 2):
        time.sleep(0.01)
    os.kill(process.pid, how)
    process.wait()
    done = len(log.read_text().splitlines())
    assert done >= 2
    rest = trained(pairs, epochs=done + 3, folder=tmp_path, resume=True)
    assert len(rest.history.epochs) == done + 3
    assert same(trained(pairs, epochs=done + 3), rest)


def test_resuming_with_other_options_or_data_is_refused(pairs, tmp_path):
    trained(pairs, epochs=1, folder=tmp_path)
    with pytest.raises(InputError, match=r"Cannot resume with lr=0.2: the run in .* has 0.05"):
        trained(pairs, lr=0.2, folder=tmp_path, resume=True)
    with pytest.raises(InputError, match="Cannot resume with train="):
        trained(overlap(30, seed=9), folder=tmp_path, resume=True)


def test_resuming_with_another_vocabulary_or_other_vectors_is_refused(pairs, tmp_path):
    other = overlap(20, seed=7)
    trained(other, epochs=1).save(tmp_path / "older")
    trained(pairs, epochs=1, init=tmp_path / "older", folder=tmp_path / "run")
    refused = pytest.raises(InputError, match=r"another vocabulary or other vectors\. Give the same init and vectors")
    with refused:
        trained(pairs, folder=tmp_path / "run", resume=True)
    rest = trained(pairs, init=tmp_path / "older", folder=tmp_path / "run", resume=True)
    assert same(trained(pairs, init=tmp_path / "older"), rest)

    file = tmp_path / "vectors.txt"
    file.write_text("bama " + "1 " * 8 + "\ndama " + "2 " * 8)
    trained(pairs, epochs=1, vectors=str(file), folder=tmp_path / "run")
    file.write_text("bama " + "1 " * 8 + "\ndama " + "3 " * 8)
    with refused:
        trained(pairs, vectors=str(file), folder=tmp_path / "run", resume=True)


def test_resuming_without_a_checkpoint_or_from_a_damaged_one_is_an_error(pairs, tmp_path):
    with pytest.raises(InputError, match="no checkpoint to resume"):
        trained(pairs, folder=tmp_path, resume=True)
    trained(pairs, epochs=1, folder=tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match=r"checkpoint\.safetensors is damaged"):
        trained(pairs, folder=tmp_path, resume=True)


def test_resuming_another_model_says_so(pairs, tmp_path):
    trained(pairs, epochs=1, folder=tmp_path)
    with pytest.raises(InputError, match=r"Cannot resume with model='dssm': the run in .* has 'mv-lstm'"):
        Matcher("dssm").fit(pairs, DEV, **(OPTIONS | {"folder": tmp_path, "resume": True}))


@pytest.mark.parametrize("optimizer", ["adam", "adagrad"])
def test_every_array_of_a_checkpoint_is_checked_before_it_is_used(pairs, tmp_path, optimizer):
    trained(pairs, epochs=1, folder=tmp_path, optimizer=optimizer)
    path = tmp_path / "checkpoint.safetensors"
    tensors = load(path.read_bytes())
    with safe_open(path, "pt") as file:
        record = file.metadata()["record"]
    moment = next(name for name in tensors if name.startswith("optimizer.") and tensors[name].dim() == 2)
    changes = [
        {moment: tensors[moment].flatten()[:1].clone()},  # the optimizer would write out of bounds
        {moment: tensors[moment].double()},
        {moment: None},
        {"optimizer.999.step": torch.zeros(())},
        {"best.score.hidden.bias": torch.zeros(1)},
        {"unknown": torch.zeros(1)},
    ]
    for change in changes:
        changed = {name: tensor for name, tensor in (tensors | change).items() if tensor is not None}
        path.write_bytes(save(changed, {"record": record, "sha256": checkpoint._digest(record, changed)}))
        with pytest.raises(InputError, match=r"checkpoint\.safetensors is damaged \("):
            trained(pairs, epochs=2, folder=tmp_path, resume=True, optimizer=optimizer)


def test_a_flipped_bit_of_a_checkpoint_is_found(pairs, tmp_path):
    trained(pairs, epochs=1, folder=tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    content = path.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(content), 40).tolist():
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with pytest.raises(InputError, match=r"checkpoint\.safetensors is damaged"):
            checkpoint.read_checkpoint(path)


def test_the_log_has_a_line_for_each_epoch(pairs, tmp_path):
    matcher = trained(pairs, folder=tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert lines == [epoch.as_dict() for epoch in matcher.history.epochs]
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4]


def test_the_folder_may_be_a_string(pairs, tmp_path):
    trained(pairs, epochs=1, folder=str(tmp_path / "run"))
    assert len(trained(pairs, epochs=2, folder=str(tmp_path / "run"), resume=True).history.epochs) == 2


def test_the_best_epoch_on_dev_is_kept(pairs):
    matcher = trained(pairs, epochs=6, lr=0.5)
    metrics = [matcher.history.start, *(e.metric for e in matcher.history.epochs)]
    assert matcher.history.best == max(metrics)
    assert matcher.history.best_epoch == metrics.index(max(metrics))
    assert matcher.evaluate(DEV).metrics["MAP"] == pytest.approx(max(metrics))


UNLEARNABLE = {"optimizer": "adamw", "lr": 1e-9}  # so small that no score changes its rank


def test_the_untrained_model_is_kept_if_no_epoch_is_better(pairs):
    matcher = trained(pairs, epochs=2, **UNLEARNABLE)
    assert matcher.history.best_epoch == 0
    assert matcher.history.best == matcher.history.start
    assert same(matcher, trained(pairs, epochs=0))
    assert matcher.evaluate(DEV).metrics["MAP"] == pytest.approx(matcher.history.start)


def test_patience_counts_from_the_untrained_model(pairs):
    matcher = trained(pairs, epochs=60, patience=2, **UNLEARNABLE)
    assert matcher.history.best_epoch == 0
    assert len(matcher.history.epochs) == 2


def test_a_resumed_run_still_knows_the_untrained_model(pairs, tmp_path):
    trained(pairs, epochs=1, folder=tmp_path, **UNLEARNABLE)
    rest = trained(pairs, epochs=3, folder=tmp_path, resume=True, **UNLEARNABLE)
    assert rest.history.best_epoch == 0
    assert same(rest, trained(pairs, epochs=0))


def test_dev_scores_that_are_not_finite_before_training_are_no_error(pairs, monkeypatch):
    real, calls = sys.modules["pairlight.inference.scorer"].score_pairs, []

    def broken_at_first(*args):
        calls.append(1)
        return real(*args) * (float("nan") if len(calls) == 1 else 1)

    monkeypatch.setattr("pairlight.inference.scorer.score_pairs", broken_at_first)
    matcher = trained(pairs, epochs=1, baseline=False, **UNLEARNABLE)
    assert matcher.history.start is None
    assert matcher.history.best_epoch == 1


def test_ctrl_c_in_the_first_epoch_leaves_the_untrained_model(pairs, monkeypatch):
    real, calls = loop._loss, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(loop, "_loss", interrupted)
    matcher = trained(pairs)
    assert matcher.history.interrupted
    assert matcher.history.epochs == []
    monkeypatch.undo()
    assert same(matcher, trained(pairs, epochs=0))


def test_the_history_survives_saving(pairs, tmp_path):
    matcher = trained(pairs, epochs=1)
    matcher.save(tmp_path / "m")
    assert Matcher.load(tmp_path / "m").history == matcher.history


def test_every_step_reports_the_dev_metric_of_the_epoch_before(pairs, monkeypatch):
    steps = []
    monkeypatch.setattr("pairlight.core.progress.ProgressReporter.on_step", lambda self, at: steps.append(at))
    history = trained(pairs, epochs=3).history
    metrics = [history.start, *(epoch.metric for epoch in history.epochs)]
    assert {at.epoch for at in steps} == {1, 2, 3}
    assert all(at.metric == metrics[at.epoch - 1] for at in steps)
    assert all(at.best == max(metrics[: at.epoch]) for at in steps)


def test_the_error_of_a_diverged_run_survives_pickling():
    error = loop.DivergedError("loss", float("inf"), 3, 0.1)
    error.add_note("in a process of its own")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is loop.DivergedError
    assert str(copy) == str(error) == "The loss became inf in epoch 3: lower lr=0.1 or set max_grad_norm."
    assert copy.__notes__ == ["in a process of its own"]
    assert str(pickle.loads(pickle.dumps(copy))) == str(error)


def test_training_ends_early_without_a_better_dev_metric(pairs):
    matcher = trained(pairs, epochs=60, patience=2, lr=0.3)
    assert len(matcher.history.epochs) == matcher.history.best_epoch + 2 < 60


def test_ctrl_c_leaves_the_best_epoch_so_far(pairs, monkeypatch):
    calls = []

    def interrupted(*args):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return real(*args)

    real = loop._train_epoch
    monkeypatch.setattr(loop, "_train_epoch", interrupted)
    matcher = trained(pairs)
    assert matcher.history.interrupted
    assert len(matcher.history.epochs) == 2
    monkeypatch.undo()
    assert same(matcher, trained(pairs, epochs=2))


@pytest.mark.parametrize("step", ["_write_log", "save_checkpoint"])
@pytest.mark.parametrize("late", [False, True])
def test_ctrl_c_during_the_writing_of_an_epoch_waits_until_it_is_written(pairs, tmp_path, monkeypatch, step, late):
    def pressed(*args):
        if not late:
            signal.raise_signal(signal.SIGINT)
        real(*args)
        if late:
            signal.raise_signal(signal.SIGINT)

    real = getattr(loop, step)
    monkeypatch.setattr(loop, step, pressed)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        stopped = trained(pairs, folder=tmp_path)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.undo()
    assert stopped.history.interrupted
    assert len(stopped.history.epochs) == stopped.history.best_epoch == 1
    rest = trained(pairs, epochs=1, folder=tmp_path, resume=True)
    assert not rest.history.interrupted
    assert [json.dumps(epoch.as_dict()) for epoch in rest.history.epochs] == (
        tmp_path / "log.jsonl"
    ).read_text().splitlines()
    assert rest.history.epochs == stopped.history.epochs


def test_resuming_repairs_a_log_that_is_ahead_of_the_checkpoint(pairs, tmp_path, monkeypatch):
    def killed(path, model, best, scale, optimizer, run, history, position):
        if len(history.epochs) == 2:
            raise SystemExit
        real(path, model, best, scale, optimizer, run, history, position)

    real = loop.save_checkpoint
    monkeypatch.setattr(loop, "save_checkpoint", killed)
    with pytest.raises(SystemExit):
        trained(pairs, folder=tmp_path)
    monkeypatch.undo()
    rest = trained(pairs, epochs=2, folder=tmp_path, resume=True)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert lines == [epoch.as_dict() for epoch in rest.history.epochs]
    assert [line["epoch"] for line in lines] == [1, 2]


def test_a_process_that_ignores_ctrl_c_keeps_ignoring_it():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with delay_interrupt():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_training_in_another_thread_needs_no_signals(pairs):
    done = []
    worker = threading.Thread(target=lambda: done.append(trained(pairs, epochs=1)))
    worker.start()
    worker.join()
    assert len(done[0].history.epochs) == 1


def test_frozen_vectors_do_not_move_and_trained_ones_do(pairs):
    start = trained(pairs, epochs=0)
    frozen, free = trained(pairs, freeze=True), trained(pairs)
    table = "embed.embedding.weight"
    assert torch.equal(weights(frozen)[table], weights(start)[table])
    assert not torch.equal(weights(free)[table], weights(start)[table])
    assert (weights(free)[table][0] == 0).all()


def test_a_loss_that_is_not_finite_is_an_error(pairs):
    with pytest.raises(InputError, match="lower lr="):
        trained(pairs, lr=1000, optimizer="adamw", weight_decay=1000)


@pytest.mark.parametrize(
    ("what", "where"),
    [("loss", "pairlight.training.loop._loss"), ("dev metric", "pairlight.inference.scorer.score_pairs")],
)
def test_training_that_diverges_later_keeps_the_best_epoch_with_a_warning(pairs, monkeypatch, what, where):
    module, _, name = where.rpartition(".")
    real, calls = getattr(sys.modules[module], name), []

    def diverging(*args):
        calls.append(1)
        return real(*args) * (float("nan") if len(calls) == before + 2 * steps + 1 else 1)

    steps = -(-len(pairs.label[pairs.label > 0]) // (OPTIONS["batch"] // 4)) if what == "loss" else 1
    before = 0 if what == "loss" else 2  # BM25 and epoch 0 are evaluated first
    monkeypatch.setattr(where, diverging)
    with pytest.warns(UserWarning, match=rf"The {what} became nan in epoch 3: lower lr=0.05.* best epoch, \d, is kept"):
        matcher = trained(pairs)
    assert len(matcher.history.epochs) == 2
    assert not matcher.history.interrupted
    monkeypatch.undo()
    assert same(matcher, trained(pairs, epochs=2))


def test_dev_scores_that_are_not_finite_in_the_first_epoch_are_an_error(pairs, monkeypatch):
    monkeypatch.setattr("pairlight.inference.scorer.score_pairs", lambda *_: np.full(len(DEV), np.nan, np.float32))
    with pytest.raises(InputError, match=r"The dev metric became nan in epoch 1: lower lr=0\.05"):
        trained(pairs)


@pytest.mark.parametrize("loss", ["hinge", "listwise", "bce", "squared"])
def test_every_loss_trains(pairs, loss):
    losses = [e.loss for e in trained(pairs, loss=loss, epochs=6).history.epochs]
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]


def test_gradient_clipping_and_weight_decay_change_the_weights(pairs):
    plain = trained(pairs, epochs=1)
    assert not same(plain, trained(pairs, epochs=1, max_grad_norm=0.01, optimizer="adagrad"))
    assert not same(plain, trained(pairs, epochs=1, weight_decay=0.1))


def test_every_epoch_draws_other_negatives(pairs, monkeypatch):
    from pairlight.training.examples import RankingExamples

    drawn, real = [], RankingExamples.epoch

    def recorded(self, rng):
        drawn.append(real(self, rng))
        return drawn[-1]

    monkeypatch.setattr(RankingExamples, "epoch", recorded)
    trained(pairs, epochs=2, negatives_per_positive=1)
    assert not np.array_equal(drawn[0].right, drawn[1].right)


@pytest.mark.parametrize("loss", ["hinge", "listwise"])
def test_negatives_that_repeat_are_scored_once_with_the_same_loss(pairs, monkeypatch, loss):
    from pairlight.models.mv_lstm import MVLSTM
    from pairlight.training.examples import RankingExamples

    scored, real_match, real_epoch = [], MVLSTM.match, RankingExamples.epoch

    def counted(self, left, right):
        scored.append(right.mask.shape[0])
        return real_match(self, left, right)

    def all_distinct(self, rng):
        epoch = real_epoch(self, rng)
        epoch.distinct[:] = epoch.right.shape[1] - 1
        return epoch

    monkeypatch.setattr(MVLSTM, "match", counted)
    options = OPTIONS | {"epochs": 1, "negatives_per_positive": 50, "batch": 100, "loss": loss}
    options |= {"optimizer": "adagrad", "epsilon": 0.1}  # without epsilon, rounding decides the sign of the first step
    new = Matcher("mv-lstm", **SETTINGS | {"dropout": 0.0}, dim=8)  # dropout would differ between repeated negatives
    once, pairs_once = copy.deepcopy(new).fit(pairs, DEV, **options), sum(scored)
    scored.clear()
    monkeypatch.setattr(RankingExamples, "epoch", all_distinct)
    repeated, pairs_repeated = new.fit(pairs, DEV, **options), sum(scored)
    assert pairs_once < 0.5 * pairs_repeated
    for (name, a), b in zip(weights(once).items(), weights(repeated).values(), strict=True):
        assert torch.allclose(a, b, atol=1e-4), name
