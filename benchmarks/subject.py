"""A model put to the test on a workload: trained and scored through pairlight's own loops, as a user would."""

import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from benchmarks.clock import peak_megabytes, seconds
from pairlight.data.pairs import Pairs
from pairlight.models import model_class
from pairlight.models.base import PairModel
from pairlight.inference.scoring import score_pairs
from pairlight.layers.types import Tokens
from pairlight.core.progress import ProgressReporter
from pairlight.training.loop import fit
from pairlight.training.config import TrainingConfig
from pairlight.training.initialize import start

LONGEST = 1000  # words: nothing is cut
_AFFORDABLE = {"urae": {"steps": 3}}  # its training without labels is not what is measured


class Subject:
    """A model with its words on some pairs. A step sees `batch` better texts, each with one worse one."""

    def __init__(self, name: str, pairs: Pairs, batch: int = 64, **settings: Any) -> None:
        given = {"vectors": "none", "max_length": LONGEST, "batch": batch, "negatives_per_positive": 1}
        options = TrainingConfig.of(model_class(name).training_defaults, given)
        self.options = TrainingConfig.of(options.as_dict(), {"loss": "hinge"} if options.loss == "auto" else {})
        self.name, self.pairs = name, pairs
        torch.manual_seed(1)
        tokenizer, model = start(name, _AFFORDABLE.get(name, {}) | settings, pairs, self.options, ProgressReporter(None))
        self.tokenizer, self.model = tokenizer, model
        self.encoded = tokenizer.encode(pairs.texts, LONGEST)
        self.model.fit_statistics(self.encoded, pairs)

    @property
    def trains(self) -> bool:
        return any(parameter.requires_grad for parameter in self.model.parameters())

    def with_model(self, model: PairModel) -> Self:
        """The same words and pairs for another model."""
        other = object.__new__(type(self))
        other.__dict__ = {**self.__dict__, "model": model}
        return other

    def knowing(self, words: int) -> Self:
        """The same with a table of so many words, most of which never come."""
        return self.with_model(type(self.model)(words, **self.model.settings))

    def only(self, lists: int) -> Self:
        """The same model on the first lists alone."""
        other, pairs = self.with_model(self.model), self.pairs
        rows = pairs.group < lists
        other.pairs = Pairs(pairs.texts, pairs.left[rows], pairs.right[rows], pairs.group[rows], pairs.labels[rows])
        return other

    def trained(self) -> float:
        """Pairs a second of CPU time: batch building, both passes and the optimiser."""
        return 2 * self.pairs.lists / self.epoch(self.model)

    def epoch(self, model: PairModel, clock: Callable[[], float] = time.process_time) -> float:
        """What a clock says the second of two epochs takes: what happens once a run is over by then."""
        at: dict[int, float] = {}
        self.train(model, 2, lambda epoch: at.__setitem__(epoch, clock()))
        return at[2] - at[1]

    def train(self, model: PairModel, epochs: int, watch: Callable[[int], None] = lambda epoch: None) -> None:
        """So many epochs; `watch` is told the epoch after every step."""
        options = TrainingConfig.of(self.options.as_dict(), {"epochs": epochs})
        fit(model, self.encoded, self.pairs, options, watch=lambda moment: watch(moment.epoch))

    def scored(self) -> float:
        """Pairs a second of CPU time, texts once tokenised."""
        return len(self.pairs) / seconds(self.score)

    def score(self) -> np.ndarray:
        return score_pairs(self.model, self.encoded, self.pairs.left, self.pairs.right)

    def training_megabytes(self) -> float | None:
        """What one training step adds to memory at its highest."""
        one = self.only(self.options.batch)
        return peak_megabytes(lambda: one.train(one.model, 1))

    def scoring_megabytes(self) -> float | None:
        return peak_megabytes(self.score)

    def outside(self) -> dict[str, float]:
        """Shares of training that are not the model's own arithmetic: the loop with its batches, and the optimiser."""
        spent = [0.0]
        hooks = [
            register_optimizer_step_pre_hook(lambda *_: spent.__setitem__(0, spent[0] - time.process_time())),
            register_optimizer_step_post_hook(lambda *_: spent.__setitem__(0, spent[0] + time.process_time())),
        ]
        optimizer = self.epoch(self.model, lambda: spent[0])
        for hook in hooks:
            hook.remove()
        whole = self.epoch(self.model)
        return {"batches": self.epoch(Idle()) / whole, "optimizer": optimizer / whole}


class Idle(PairModel):
    """A model without arithmetic: training it takes what the loop itself takes."""

    settings: dict[str, Any] = {}

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Parameter(torch.zeros(1))

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        return self.score.expand(len(right.ids))
