"""The training and scoring loops that a user might write: PyTorch's AdaGrad on all weights, batches in given order."""

from collections.abc import Callable

import numpy as np
import torch

from benchmarks.benchmark_model import BenchmarkModel
from pairlight.data.batching import batches_by_length
from pairlight.inference.scoring import BATCH
from pairlight.layers.collate import collate
from pairlight.models.base import PairModel
from pairlight.training.examples import RankingExamples
from pairlight.training.losses import hinge

_CPU = torch.device("cpu")


class PlainLoop(BenchmarkModel):
    """The same model, vocabulary and pairs without pairlight's loops."""

    def train(self, model: PairModel, epochs: int, on_step: Callable[[int], None] = lambda epoch: None) -> None:
        model.train()
        optimizer = torch.optim.Adagrad(model.parameters(), self.config.lr, eps=self.config.epsilon)
        examples = RankingExamples(self.pairs, self.config.negatives_per_positive)
        rng = np.random.default_rng(1)
        for number in range(1, epochs + 1):
            epoch = examples.epoch(rng)
            for start in range(0, len(epoch.left), self.config.batch):
                rows = slice(start, start + self.config.batch)
                left, right = epoch.left[rows], epoch.right[rows].T
                scores = model(*(collate(self.texts, side.reshape(-1), _CPU) for side in (left, right)))
                loss = hinge(scores.view(right.shape), self.config.margin)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                on_step(number)

    @torch.no_grad()
    def score(self) -> np.ndarray:
        """In batches of similar length, so that there is as little padding as in pairlight's loop."""
        self.model.eval()
        left, right, lengths = self.pairs.left, self.pairs.right, self.texts.lengths
        scores = np.empty(len(left), np.float32)
        for rows in batches_by_length(lengths[left] * lengths[right], BATCH):
            found = self.model(*(collate(self.texts, side[rows], _CPU) for side in (left, right)))
            scores[rows] = found.numpy()
        return scores
