"""What is run and what comes of it: run specifications and run results."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from pairlight.experiments.records import Record, Values


@dataclass(frozen=True)
class RunSpec:
    """One training: a model with its settings, the training options and the seed."""

    model: str
    seed: int
    settings: Values
    options: Values

    @property
    def name(self) -> str:
        """A file name that no other specification has."""
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:8]
        return f"{self.model}-{self.seed}-{digest}"


@dataclass(frozen=True)
class EpochResult(Record):
    """One epoch of a run."""

    epoch: int
    loss: float
    metric: float | None  # on dev
    seconds: float
    test: float | None = None  # the same metric on test, in experiments that measure it after every epoch


Epochs = tuple[EpochResult, ...]


@dataclass(frozen=True, kw_only=True)
class RunResult(Record):
    """What a run measured."""

    model: str
    seed: int
    settings: Values
    options: Values
    dev: dict[str, float]  # metrics
    test: dict[str, float]
    epochs: Epochs
    train_seconds: float  # of all epochs
    seconds: float  # of everything: word vectors, training and evaluation
    parameters: int  # trained ones
    per_list: dict[str, list[float]] = field(default_factory=dict)  # test metrics of every list or pair


def plan_runs(models: Sequence[str], seeds: Sequence[int], options: Values) -> list[RunSpec]:
    """The runs of all models with all seeds; unknown models and invalid options are errors."""
    from pairlight.training.config import TrainingConfig

    TrainingConfig.of({}, options)
    return [RunSpec(model, seed, with_seed(model, {}, seed), options) for model in models for seed in seeds]


def with_seed(model: str, settings: Values, seed: int) -> Values:
    """The settings, checked; a model that draws random numbers when it scores gets the seed as a setting too."""
    from pairlight.models import model_class
    from pairlight.models.settings import check_settings, model_settings

    found = model_class(model)
    own = {"seed": seed} if "seed" in model_settings(found) else {}
    return check_settings(model, found, {**settings, **own})
