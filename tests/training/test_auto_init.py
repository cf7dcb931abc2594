"""Training starts from a ready-made model only if that does better on dev, and never from one that saw the texts."""

from pathlib import Path

import numpy as np
import pytest
import torch

from pairlight import Matcher
from pairlight.core.files import atomic_write
from pairlight.inference import ready_made
from pairlight.inference.ready_made import SEEN, text_checksums, trained_on
from toy_pairs import overlap

TRAIN, DEV = overlap(24, seed=1), overlap(12, seed=2)
FEW = {"epochs": 1, "progress": False, "negatives_per_positive": 2}


def write_ready_made(folder: Path, name: str, *, sign: float, texts: list[str]) -> None:
    """A ready-made model whose learned part adds the coverage of left words to the score, or subtracts it."""
    matcher = Matcher("late-interaction").fit(overlap(6, seed=9), DEV, init=None, freeze=True, **FEW | {"epochs": 0})
    with torch.no_grad():
        linear = matcher.scorer.model.linear_layer()
        linear.weight.zero_()
        linear.weight[0, 4] = 100 * sign
    matcher.save(folder / name)
    with atomic_write(folder / name / SEEN) as file:
        np.save(file, text_checksums(texts))


@pytest.fixture
def noisy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No ready-made models; an untrained model that ranks worse than a good ready-made one."""
    monkeypatch.setattr(ready_made, "FOLDER", tmp_path)
    monkeypatch.setattr("pairlight.training.trainer.fit_linear", lambda *args: None)
    monkeypatch.setattr("pairlight.training.loop.fit_linear", lambda *args: None)

    def bad_start(linear: object) -> None:
        with torch.no_grad():
            linear.weight.zero_()
            linear.weight[0, 8] = 1.0  # the length of the right text says nothing

    monkeypatch.setattr("pairlight.models.late_interaction.start_linear", bad_start)
    return tmp_path


def test_training_starts_from_a_ready_made_model_that_is_better_on_dev(noisy):
    write_ready_made(noisy, "good", sign=1, texts=["other texts"])
    found = Matcher().fit(TRAIN, DEV, **FEW)
    assert found.history.init == "good"
    assert found.history.start == 1.0
    assert Matcher().fit(TRAIN, DEV, init=None, **FEW).history.init is None


def test_training_does_not_start_from_a_ready_made_model_that_is_worse(noisy):
    write_ready_made(noisy, "bad", sign=-1, texts=["other texts"])
    assert Matcher().fit(TRAIN, DEV, **FEW).history.init is None


def test_a_ready_made_model_that_was_trained_on_the_texts_is_not_used(noisy):
    write_ready_made(noisy, "good", sign=1, texts=[TRAIN.texts[0].upper() + "  ", *TRAIN.texts[1:4]])
    assert trained_on("good", TRAIN.texts)
    assert not trained_on("good", DEV.texts)
    assert Matcher().fit(TRAIN, DEV, **FEW).history.init is None


def test_settings_of_the_users_own_leave_ready_made_models_out(noisy):
    write_ready_made(noisy, "good", sign=1, texts=["other texts"])
    assert Matcher(k=3).fit(TRAIN, DEV, **FEW).history.init is None


def test_the_model_that_training_started_from_is_saved(noisy, tmp_path):
    write_ready_made(noisy, "good", sign=1, texts=["other texts"])
    Matcher().fit(TRAIN, DEV, **FEW).save(tmp_path / "mine")
    assert Matcher.load(tmp_path / "mine").history.init == "good"
