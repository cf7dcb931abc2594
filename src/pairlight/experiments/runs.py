"""What a run does: train a model, evaluate it, and keep what a significance test needs."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pairlight.data.pairs import Pairs, concat_pairs
from pairlight.data.splits import Splits, train_dev_test
from pairlight.evaluation.classification import best_threshold
from pairlight.evaluation.dev_metric import dev_metric
from pairlight.evaluation.evaluate import default_metric, evaluate_scores
from pairlight.evaluation.result import EvaluationResult
from pairlight.experiments.records import Values
from pairlight.experiments.spec import EpochResult, Epochs, RunResult, RunSpec
from pairlight.inference.history import History
from pairlight.inference.scorer import ModelScorer, Scores
from pairlight.matcher import Matcher
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import TokenizedTexts
from pairlight.training.trainer import TrainingRun, train

# The options of `evaluate_every_epoch`, whatever the options of a run say.
CLASSIFICATION = {"loss": "bce", "metric": "accuracy"}
ON_CURVES = ("dev", "test")


def train_run(spec: RunSpec, splits: Splits) -> tuple[Matcher, RunResult]:
    """Train on train, select the epoch on dev, and evaluate on dev and test."""
    started = time.perf_counter()
    options: dict[str, Any] = {**spec.options, "seed": spec.seed}
    matcher = Matcher(spec.model, **spec.settings).fit(
        splits["train"], splits["dev"], baseline=False, progress=False, **options
    )
    check_finished(matcher.history)
    return matcher, RunResult(
        model=spec.model,
        seed=spec.seed,
        settings=spec.settings,
        options=spec.options,
        dev=matcher.evaluate(splits["dev"]).metrics,
        test=matcher.evaluate(splits["test"]).metrics,
        epochs=epochs_of(matcher.history),
        train_seconds=train_seconds(matcher.history),
        seconds=round(time.perf_counter() - started, 1),
        parameters=trained_parameters(matcher.scorer.model),
    )


def train_and_save(folder: Path, seed: int, spec: RunSpec, splits: Splits) -> RunResult:
    """The result of a run; the model is saved to `folder` if its seed is `seed`, so that it can be explained."""
    matcher, result = train_run(spec, splits)
    if spec.seed == seed:
        matcher.save(folder / spec.name)
    return result


def evaluate_lists(spec: RunSpec, splits: Splits) -> RunResult:
    """The result of a run with the test metrics of every list, or whether each pair was classified correctly.

    The seconds are CPU time. A run has one thread, so they do not depend on what else the machine does.
    """
    if spec.last_epoch:
        return evaluate_last_epoch(spec, splits)
    started = time.process_time()
    matcher, result = train_run(spec, splits)
    test = splits["test"]
    scores = matcher.predict(test)
    values = per_list(test, scores, evaluate_scores(test, scores, threshold=matcher.threshold))
    return replace(result, seconds=round(time.process_time() - started, 1), per_list=values)


def evaluate_new_split(spec: RunSpec, splits: Splits) -> RunResult:
    """The result of a run on all lists, split at random with its seed; seeds have different test lists."""
    return replace(evaluate_lists(spec, train_dev_test(concat_pairs(list(splits.values())), spec.seed)), per_list={})


class _SplitScores:
    """The scores of a split; its texts are tokenized once."""

    def __init__(self, splits: Splits) -> None:
        self.splits = splits
        self._texts: dict[str, TokenizedTexts] = {}

    def of(self, scorer: ModelScorer, split: str) -> Scores:
        pairs = self.splits[split]
        if split not in self._texts:
            self._texts[split] = scorer.tokenize(pairs.texts, pairs.left, pairs.right)
        return scorer.score_tokenized(self._texts[split], pairs.left, pairs.right)


def evaluate_last_epoch(spec: RunSpec, splits: Splits) -> RunResult:
    """Train on ranking lists for all epochs and evaluate the model at the end; dev and test are measured every epoch.

    A model that is not trained, such as BM25, has no epochs and is evaluated as it is.
    """
    started = time.process_time()
    scores, metric = _SplitScores(splits), default_metric(splits["dev"])
    measured: list[dict[str, float]] = []  # as in `evaluate_every_epoch`

    def count_epochs(scorer: ModelScorer) -> float:
        measured.append({split: dev_metric(splits[split], scores.of(scorer, split), metric) for split in ON_CURVES})
        return float(len(measured))  # the last epoch has the largest number, so it is the one that is kept

    run = run_training(spec, splits, spec.options, count_epochs)
    scorer = run.trained.scorer()
    dev, test = (scores.of(scorer, split) for split in ON_CURVES)
    on_test = evaluate_scores(splits["test"], test)
    after_epochs = measured[len(measured) - len(run.history.epochs) :]
    return RunResult(
        model=spec.model,
        seed=spec.seed,
        settings=spec.settings,
        options=spec.options,
        dev=evaluate_scores(splits["dev"], dev).metrics,
        test=on_test.metrics,
        epochs=tuple(
            replace(epoch, metric=values["dev"], test=values["test"])
            for epoch, values in zip(epochs_of(run.history), after_epochs, strict=True)
        ),
        train_seconds=train_seconds(run.history),
        seconds=round(time.process_time() - started, 1),
        parameters=trained_parameters(run.trained.model),
        per_list=per_list(splits["test"], test, on_test),
    )


def evaluate_every_epoch(spec: RunSpec, splits: Splits) -> RunResult:
    """Train on labeled pairs, and measure accuracy on dev and test after every epoch at the best threshold for dev.

    The result is that of the best epoch on dev, or of the last one if the specification says so.
    """
    started = time.process_time()
    scores_of = _SplitScores(splits)
    on_dev: list[float] = []  # before training, after the fit of a linear layer if there is one, after every epoch
    on_test: list[float] = []

    def evaluate(scorer: ModelScorer) -> tuple[EvaluationResult, EvaluationResult, Scores]:
        dev, test = (scores_of.of(scorer, split) for split in ON_CURVES)
        threshold = best_threshold(dev, splits["dev"].labels)
        return (
            evaluate_scores(splits["dev"], dev, task="pairs", threshold=threshold),
            evaluate_scores(splits["test"], test, task="pairs", threshold=threshold),
            test,
        )

    def dev_accuracy(scorer: ModelScorer) -> float:
        dev, test, _ = evaluate(scorer)
        on_dev.append(dev.metrics["accuracy"])
        on_test.append(test.metrics["accuracy"])
        return float(len(on_test)) if spec.last_epoch else on_dev[-1]

    run = run_training(spec, splits, {**spec.options, **CLASSIFICATION}, dev_accuracy)
    dev, test, scores = evaluate(run.trained.scorer())
    before = 0 if run.trained.model.linear_layer() is None else 1
    return RunResult(
        model=spec.model,
        seed=spec.seed,
        settings=spec.settings,
        options=spec.options,
        dev=dev.metrics,
        test=test.metrics,
        epochs=tuple(
            replace(epoch, metric=on_dev[before + epoch.epoch], test=on_test[before + epoch.epoch])
            for epoch in epochs_of(run.history)
        ),
        train_seconds=train_seconds(run.history),
        seconds=round(time.process_time() - started, 1),
        parameters=trained_parameters(run.trained.model),
        per_list=per_list(splits["test"], scores, test),
    )


def run_training(
    spec: RunSpec, splits: Splits, options: Values, evaluate: Callable[[ModelScorer], float]
) -> TrainingRun:
    """Train with another dev metric than those of `TrainingConfig`."""
    run = train(
        spec.model,
        splits["train"],
        splits["dev"],
        settings=spec.settings,
        options={**options, "seed": spec.seed},
        evaluate=evaluate,
    )
    check_finished(run.history)
    return run


def check_finished(history: History) -> None:
    """Raise KeyboardInterrupt if training was interrupted: the loop returns normally then, but there is no result."""
    if history.interrupted:
        raise KeyboardInterrupt


def epochs_of(history: History) -> Epochs:
    return tuple(EpochResult(each.epoch, each.loss, each.metric, each.seconds) for each in history.epochs)


def train_seconds(history: History) -> float:
    return round(sum(epoch.seconds for epoch in history.epochs), 1)


def trained_parameters(model: PairModel) -> int:
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def per_list(test: Pairs, scores: Scores, result: EvaluationResult) -> dict[str, list[float]]:
    """The values by which two models are compared: metrics of every list, or 1 for every correctly classified pair."""
    if result.task == "ranking":
        return {name: values.round(6).tolist() for name, values in result.per_list.items()}
    if result.threshold is None:
        return {}
    # In float64, since a threshold just above the highest score would be rounded down to it.
    positive = np.asarray(scores, np.float64) >= result.threshold
    return {"accuracy": (positive == (test.labels > 0)).astype(float).tolist()}
