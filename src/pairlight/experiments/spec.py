"""What one cell of a paper's table does: train, measure, and keep what a significance test needs."""

import time
from typing import Any

import numpy as np

from pairlight.experiments.compare import Cell, Parts, trained
from pairlight.data.pairs import Pairs
from pairlight.evaluation.evaluate import evaluate_scores
from pairlight.evaluation.labelled import best_threshold
from pairlight.evaluation.result import Result


def with_lists(cell: Cell, parts: Parts) -> dict[str, Any]:
    """Train as `compare` does; keep the test metric of every list, or whether each pair was called right.

    The seconds of a cell are the processor's: it has one thread, so they are the same on a busy machine.
    """
    started = time.process_time()
    matcher, told = trained(cell, parts)
    test = parts["test"]
    threshold = None if matcher.calibration is None else matcher.calibration.threshold
    scores = matcher.predict(test)
    return told | {
        "seconds": round(time.process_time() - started, 1),
        "per_list": per_list(test, scores, evaluate_scores(test, scores, threshold=threshold)),
    }


BY_LABELS = {"loss": "bce", "metric": "accuracy"}  # how `every_epoch` trains, whatever a model's recipe says


def every_epoch(cell: Cell, parts: Parts) -> dict[str, Any]:
    """Train on labelled pairs and measure dev and test after every epoch, each at the threshold that suits dev best."""
    import torch

    from pairlight.models import model_class
    from pairlight.inference.scoring import score_pairs
    from pairlight.core.progress import ProgressReporter
    from pairlight.training.loop import fit
    from pairlight.training.config import TrainingConfig
    from pairlight.training.initialize import start

    started = time.process_time()
    options = TrainingConfig.of(
        model_class(cell.model).training_defaults, cell.options | BY_LABELS | {"seed": cell.seed}
    )
    torch.manual_seed(cell.seed)
    tokenizer, model = start(cell.model, cell.settings, parts["train"], options, ProgressReporter(None))
    encoded = {part: tokenizer.encode(pairs.texts, options.max_length) for part, pairs in parts.items()}
    model.fit_statistics(encoded["train"], parts["train"])

    def measured() -> dict[str, tuple[Any, Result]]:
        scores = {part: score_pairs(model, encoded[part], parts[part].left, parts[part].right) for part in parts}
        threshold = best_threshold(scores["dev"], parts["dev"].labels)
        return {
            part: (scores[part], evaluate_scores(parts[part], scores[part], kind="pairs", threshold=threshold))
            for part in ("dev", "test")
        }

    on_test: list[float] = []

    def judge() -> float:
        found = measured()
        on_test.append(found["test"][1].metrics["accuracy"])
        return found["dev"][1].metrics["accuracy"]

    history = fit(model, encoded["train"], parts["train"], options, judge=judge)
    found = measured()
    return {
        "model": cell.model,
        "seed": cell.seed,
        "settings": cell.settings,
        "options": cell.options,
        "dev": found["dev"][1].metrics,
        "test": found["test"][1].metrics,
        "epochs": len(history.epochs),
        "curve": [epoch | {"test": test} for epoch, test in zip(history.epochs, on_test, strict=True)],
        "seconds": round(time.process_time() - started, 1),
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "per_list": per_list(parts["test"], *found["test"]),
    }


def per_list(test: Pairs, scores: Any, result: Result) -> dict[str, list[float]]:
    """The values that two models are compared by: metrics of each list, or of each pair 1 where it was called right."""
    if result.kind == "ranking":
        return {name: values.round(6).tolist() for name, values in result.per_list.items()}
    if result.threshold is None:
        return {}
    return {
        "accuracy": ((np.asarray(scores, np.float64) >= result.threshold) == (test.labels > 0)).astype(int).tolist()
    }
