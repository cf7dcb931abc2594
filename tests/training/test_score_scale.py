"""Bounded scores get a learned scale and bias under losses of labels."""

import json
import math

import numpy as np
import pytest
import torch
from safetensors import safe_open

from pairlight.data.pairs import Pairs
from pairlight.matcher import Matcher
from pairlight.models import MODELS, model_class
from pairlight.training.score_scale import ScoreScale
from toy_pairs import WORDS

BOUNDED = ("anmm", "bi-lstm-rnn", "cdssm", "conv-knrm", "drmm", "drmm-tks", "dssm", "duet", "knrm", "lstm-rnn")
COSINE_LIMIT = math.log(1 + math.exp(-1))  # 0.313, the lowest bce of a logit between -1 and 1


def same_or_other(n: int) -> Pairs:
    """A text with itself (1), or with other words (0)."""
    rng = np.random.default_rng(0)
    left, right = [], []
    for i in range(n):
        words = rng.permutation(WORDS)
        left.append(" ".join(words[:4]))
        right.append(" ".join(words[4:8] if i % 2 else words[:4]))
    return Pairs.of(left, right, [float(1 - i % 2) for i in range(n)])


PAIRS = same_or_other(120)
OPTIONS = {"vectors": "none", "loss": "bce", "optimizer": "adam", "lr": 0.05, "batch": 16, "patience": 0}


def trained(name: str, **changes) -> Matcher:
    return Matcher(name, dim=8, evidence=False).fit(PAIRS, PAIRS, progress=False, **(OPTIONS | changes))


def weights(matcher: Matcher) -> dict[str, torch.Tensor]:
    return matcher.scorer.model.state_dict()


def test_models_with_a_bounded_score_declare_it():
    assert tuple(sorted(name for name in MODELS if model_class(name).bounded_score)) == BOUNDED


def test_logits_start_with_mean_zero_and_standard_deviation_one():
    scores = np.array([0.5, 0.6, 0.7, 1.0], np.float32)  # of a sigmoid: all of them would be the logits of positives
    logits = ScoreScale("bce", scores, np.array([0.0, 1.0], np.float32))(torch.from_numpy(scores)).detach()
    assert (float(logits.mean()), float(logits.std(correction=0))) == pytest.approx((0.0, 1.0), abs=1e-5)
    assert logits.tolist() == sorted(logits.tolist())


def test_under_the_squared_loss_scores_start_as_the_labels_are_distributed():
    scores, labels = np.array([-1.0, 0.0, 1.0], np.float32), np.array([-1.0, 2.0, 5.0], np.float32)
    scale = ScoreScale("squared", scores, labels)
    assert scale(torch.from_numpy(scores)).tolist() == pytest.approx([-1.0, 2.0, 5.0], abs=1e-5)
    assert scale.log_scale.requires_grad


@pytest.mark.parametrize("loss", ["bce", "squared"])
def test_equal_scores_and_labels_have_a_finite_scale(loss):
    scale = ScoreScale(loss, np.full(3, 0.3, np.float32), np.full(3, 1.0, np.float32))
    assert torch.isfinite(scale(torch.tensor([0.3, 1.0]))).all()
    assert math.exp(scale.log_scale.item()) == pytest.approx(20)


@pytest.mark.parametrize("name", ["lstm-rnn", "anmm"])
def test_the_bce_of_a_bounded_score_falls_below_what_the_raw_score_can_reach(name):
    matcher = trained(name, epochs=15)
    assert min(epoch.loss for epoch in matcher.history.epochs) < 0.8 * COSINE_LIMIT
    assert np.abs(matcher.predict(PAIRS)).max() <= 1 + 1e-6  # the saved model has the score of the paper


@pytest.mark.parametrize("optimizer", ["adagrad", "adam", "adamw"])
@pytest.mark.parametrize("loss", ["bce", "squared"])
def test_a_resumed_run_has_the_scale_it_had(tmp_path, optimizer, loss):
    options = {"optimizer": optimizer, "loss": loss, "weight_decay": 0.01}
    whole = trained("lstm-rnn", epochs=4, **options)
    trained("lstm-rnn", epochs=2, folder=tmp_path, **options)
    rest = trained("lstm-rnn", epochs=4, folder=tmp_path, resume=True, **options)
    assert [epoch.loss for epoch in rest.history.epochs] == [epoch.loss for epoch in whole.history.epochs]
    assert all(torch.equal(a, b) for a, b in zip(weights(whole).values(), weights(rest).values(), strict=True))


def test_the_scale_is_in_the_checkpoint_and_not_in_the_model_folder(tmp_path):
    matcher = trained("lstm-rnn", epochs=2, folder=tmp_path / "run")
    with safe_open(tmp_path / "run" / "checkpoint.safetensors", "pt") as file:
        assert {"scale.log_scale", "scale.bias"} <= set(file.keys())
        assert math.isfinite(file.get_tensor("scale.log_scale").item())
    matcher.save(tmp_path / "model")
    with safe_open(tmp_path / "model" / "model.safetensors", "pt") as file:
        assert not [key for key in file.keys() if "scale" in key]  # noqa: SIM118 - a handle, not a dict
    assert "scale" not in json.loads((tmp_path / "model" / "config.json").read_text())["settings"]


@pytest.mark.parametrize(("name", "loss"), [("lstm-rnn", "hinge"), ("mv-lstm", "bce")])
def test_lists_and_unbounded_scores_have_no_scale(tmp_path, pairs, name, loss):
    changes = {"loss": loss, "epochs": 1, "folder": tmp_path}
    Matcher(name, dim=8, evidence=False).fit(pairs, pairs, progress=False, **(OPTIONS | changes))
    with safe_open(tmp_path / "checkpoint.safetensors", "pt") as file:
        assert not [key for key in file.keys() if key.startswith("scale.")]  # noqa: SIM118 - a handle, not a dict
