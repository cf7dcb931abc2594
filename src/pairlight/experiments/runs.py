"""What a run does: train a model, evaluate it, and keep what a significance test needs."""

import time
from pathlib import Path

import numpy as np

from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits
from pairlight.evaluation.classification import best_threshold
from pairlight.evaluation.evaluate import evaluate_scores
from pairlight.evaluation.result import EvaluationResult
from pairlight.experiments.spec import Epochs, EpochResult, RunResult, RunSpec
from pairlight.inference.scorer import ModelScorer, Scores
from pairlight.matcher import Matcher
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import TokenizedTexts
from pairlight.training.loop import History
from pairlight.training.trainer import train

# How `evaluate_every_epoch` trains, whatever the options of a run say.
CLASSIFICATION = {"loss": "bce", "metric": "accuracy"}


def train_run(spec: RunSpec, splits: Splits) -> tuple[Matcher, RunResult]:
    """Train on train, select the epoch on dev, and evaluate once on test."""
    started = time.perf_counter()
    matcher = Matcher(spec.model, **spec.settings)
    matcher.fit(splits["train"], splits["dev"], seed=spec.seed, progress=False, **spec.options)
    check_finished(matcher.history)
    dev, test = matcher.evaluate(splits["dev"]).metrics, matcher.evaluate(splits["test"]).metrics
    return matcher, RunResult(
        model=spec.model,
        seed=spec.seed,
        settings=spec.settings,
        options=spec.options,
        dev=dev,
        test=test,
        epochs=epochs_of(matcher.history),
        train_seconds=train_seconds(matcher.history),
        seconds=round(time.perf_counter() - started, 1),
        parameters=trained_parameters(matcher.scorer.model),
    )
