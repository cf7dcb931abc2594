"""A model on a workload, trained and scored by pairlight's own loops."""

import time
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from benchmarks.clock import peak_megabytes, seconds
from pairlight.core.memory import disable_malloc_trim
from pairlight.data.pairs import Pairs
from pairlight.experiments.spec import in_paper_form
from pairlight.inference.scoring import score_pairs
from pairlight.layers.types import Tokens
from pairlight.models import build
from pairlight.models.base import PairModel
from pairlight.training.config import TrainingConfig
from pairlight.training.loop import fit
from pairlight.training.trainer import prepare_training

MAX_LENGTH = 1000  # words, so that no text is truncated
_SETTINGS = {"urae": {"steps": 3}}  # its unsupervised training is not measured


class BenchmarkModel:
    """A model in the form of its paper, with the vocabulary of some pairs.

    A step has `batch` positives with one negative each. Without evidence a model computes what plain versions of it do.
    """

    def __init__(self, name: str, pairs: Pairs, batch: int = 64, **settings: Any) -> None:
        options = {
            "vectors": "none",
            "max_length": MAX_LENGTH,
            "batch": batch,
            "negatives": "list",
            "negatives_per_positive": 1,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # some models truncate long texts
            own = in_paper_form(name, _SETTINGS.get(name, {})) | settings
            prepared = prepare_training(name, pairs, pairs, settings=own, options=options)
        self.name, self.pairs = name, pairs
        self.config, self.texts = prepared.config, prepared.texts
        self.tokenizer, self.model = prepared.scorer.tokenizer, prepared.model

    @property
    def has_weights(self) -> bool:
        return any(parameter.requires_grad for parameter in self.model.parameters())

    def with_model(self, model: PairModel) -> Self:
        """Another model on the same texts and pairs."""
        other = object.__new__(type(self))
        other.__dict__ = {**self.__dict__, "model": model}
        return other

    def with_vocabulary(self, words: int) -> Self:
        """The same with a table of `words` word vectors, most of which are never used."""
        return self.with_model(build(self.name, words, **self.model.settings))

    def first_lists(self, lists: int) -> Self:
        """The same model on the first ranking lists only."""
        other, pairs = self.with_model(self.model), self.pairs
        rows = pairs.group < lists
        other.pairs = Pairs(pairs.texts, pairs.left[rows], pairs.right[rows], pairs.group[rows], pairs.labels[rows])
        return other

    def training_speed(self) -> float:
        """Pairs per second of CPU time: building batches, forward and backward pass, and the optimizer."""
        return 2 * self.pairs.lists / self.epoch_time(self.model)

    def epoch_time(self, model: PairModel, clock: Callable[[], float] = time.process_time) -> float:
        """What a clock measures for the second of two epochs, without what happens once per run."""
        at: dict[int, float] = {}
        self.train(model, 2, lambda epoch: at.__setitem__(epoch, clock()))
        return at[2] - at[1]

    def train(self, model: PairModel, epochs: int, on_step: Callable[[int], None] = lambda epoch: None) -> None:
        """Train for some epochs; `on_step` is called with the number of the epoch after every step."""
        disable_malloc_trim()  # as the trainer does
        config = TrainingConfig.of(self.config.as_dict(), {"epochs": epochs})
        fit(model, self.texts, self.pairs, config, on_step=lambda progress: on_step(progress.epoch))

    def scoring_speed(self) -> float:
        """Pairs per second of CPU time, without tokenization."""
        return len(self.pairs) / seconds(self.score)

    def score(self) -> np.ndarray:
        disable_malloc_trim()  # as the command line does
        return score_pairs(self.model, self.texts, self.pairs.left, self.pairs.right)

    def training_megabytes(self) -> float | None:
        """The peak memory of one training step."""
        one = self.first_lists(self.config.batch)
        return peak_megabytes(lambda: one.train(one.model, 1))

    def scoring_megabytes(self) -> float | None:
        return peak_megabytes(self.score)

    def overhead(self) -> dict[str, float]:
        """The shares of training time spent outside the model: in the loop with its batches, and in the optimizer."""
        spent = [0.0]
        hooks = [
            register_optimizer_step_pre_hook(lambda *_: spent.__setitem__(0, spent[0] - time.process_time())),
            register_optimizer_step_post_hook(lambda *_: spent.__setitem__(0, spent[0] + time.process_time())),
        ]
        optimizer = self.epoch_time(self.model, lambda: spent[0])
        for hook in hooks:
            hook.remove()
        whole = self.epoch_time(self.model)
        return {"batches": self.epoch_time(EmptyModel()) / whole, "optimizer": optimizer / whole}


class EmptyModel(PairModel):
    """A model that computes nothing: training it takes the time of the loop itself."""

    settings: dict[str, Any] = {}

    def __init__(self) -> None:
        self.score = nn.Parameter(torch.zeros(1))

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        return self.score.expand(len(right.ids))
