"""Says in plain sentences when training has not gone well, and what to do about it."""

import numpy as np

from pairlight.data.pairs import Pairs
from pairlight.evaluation.metrics import RANKING_METRICS
from pairlight.inference.history import History
from pairlight.training.config import TrainingConfig

FEW = 30  # dev lists or pairs: with fewer, the best epoch is largely chance
PERFECT = 1.0  # of every dev metric: nothing is left to learn
UNMOVED = 0.001  # relative change of the loss
MANY_TRUNCATED = 0.05  # share of dev texts
LARGE_EPSILON = 0.01  # of AdaGrad: above it, small gradients hardly move a weight


def advice(history: History, config: TrainingConfig, dev: Pairs, truncated: float = 0.0) -> tuple[str, ...]:
    """One sentence for each sign that the model did not learn, or that dev cannot tell.

    `truncated` is the share of dev texts that are not read to the end.
    """
    if not history.epochs:
        return ()
    found = (
        _loss(history, config),
        _size(dev, config),
        _last(history, config),
        _start(history, config),
        _bm25(history, config, truncated),
    )
    return tuple(note for note in found if note is not None)


def _has_moved(history: History) -> bool:
    """False if the first and the last loss are almost equal; a loss of 0 has nothing left to learn."""
    first, last = history.epochs[0], history.epochs[-1]
    return first is last or abs(last.loss - first.loss) >= UNMOVED * abs(first.loss)


def _loss(history: History, config: TrainingConfig) -> str | None:
    if _has_moved(history):
        return None
    first, last = history.epochs[0], history.epochs[-1]
    fix = f"raise lr={config.lr:g}"
    if config.optimizer == "adagrad" and config.epsilon > LARGE_EPSILON:
        fix += f" or lower epsilon={config.epsilon:g}"
    return (
        f"The loss has hardly moved, from {first.loss:.5f} in epoch {first.epoch} to {last.loss:.5f} in epoch "
        f"{last.epoch}: {fix}."
    )


def _size(dev: Pairs, config: TrainingConfig) -> str | None:
    if config.metric in RANKING_METRICS:
        size, unit = len(np.unique(dev.group[dev.labels > 0])), "lists with a positive"
    else:
        size, unit = len(dev), "pairs"
    if size >= FEW:
        return None
    return f"Dev has only {size} {unit}, so the best epoch is largely chance: use at least {FEW}."


def _last(history: History, config: TrainingConfig) -> str | None:
    if history.best_epoch != config.epochs:
        return None
    return (
        f"The best epoch, {history.best_epoch}, is the last one, so the model may still improve: train longer than "
        f"epochs={config.epochs}."
    )


def _start(history: History, config: TrainingConfig) -> str | None:
    if history.best_epoch != 0 or history.best is None or history.best >= PERFECT:
        return None
    reached = max(epoch.metric for epoch in history.epochs if epoch.metric is not None)
    lower = f"lower lr={config.lr:g}, or " if _has_moved(history) else ""  # the other note asks for a higher one
    return (
        f"Training did not help: dev {config.metric} was {history.best:.4f} before it and at most {reached:.4f} "
        f"after an epoch, so the model is kept as it was; {lower}use more training pairs."
    )


def _bm25(history: History, config: TrainingConfig, truncated: float) -> str | None:
    bm25 = history.baseline.get("bm25")
    if bm25 is None or history.best is None or history.best >= bm25:
        return None
    fixes = ["use more training pairs", "use the model bm25"]
    if truncated > MANY_TRUNCATED:
        fixes.insert(0, f"read more of the long texts than max_length={config.max_length} words")
    if config.vectors == "none":
        fixes.insert(0, "use pretrained vectors")
    return f"The model is below BM25: dev {config.metric} {history.best:.4f} against {bm25:.4f}; {', or '.join(fixes)}."
