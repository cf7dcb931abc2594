"""The history of a training run, as it is stored with a model."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class EpochRecord:
    """What is logged of an epoch."""

    epoch: int
    loss: float
    metric: float | None  # on dev
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass
class History:
    """The epochs of a run, and the best of them; epoch 0 is the model before training."""

    epochs: list[EpochRecord] = field(default_factory=list)
    best_epoch: int | None = None
    best: float | None = None
    interrupted: bool = False  # not stored
    start: float | None = None  # dev metric of epoch 0; None if it was not measured or is not finite
    baseline: dict[str, float] = field(default_factory=dict)  # dev metric of BM25, under "bm25"
    init: str | None = None  # the ready-made model that training started from

    def as_dict(self) -> dict[str, Any]:
        epochs = [epoch.as_dict() for epoch in self.epochs]
        return {
            "epochs": epochs,
            "best_epoch": self.best_epoch,
            "best": self.best,
            "start": self.start,
            "baseline": self.baseline,
            "init": self.init,
        }
