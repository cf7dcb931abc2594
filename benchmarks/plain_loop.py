"""The loop a user might write: PyTorch's own AdaGrad over every weight, batches in the order they come."""

from collections.abc import Callable

import numpy as np
import torch

from benchmarks.subject import Subject
from pairlight.data.batching import by_length
from pairlight.models.base import PairModel
from pairlight.inference.scoring import BATCH, tokens
from pairlight.training.examples import Lists
from pairlight.training.losses import hinge

_CPU = torch.device("cpu")


class PlainLoop(Subject):
    """The same model, words and pairs without pairlight's training and scoring."""

    def train(self, model: PairModel, epochs: int, watch: Callable[[int], None] = lambda epoch: None) -> None:
        model.train()
        optimizer = torch.optim.Adagrad(model.parameters(), self.options.lr, eps=self.options.epsilon)
        lists, rng = Lists(self.pairs, self.options.negatives_per_positive), np.random.default_rng(1)
        for number in range(1, epochs + 1):
            epoch = lists.epoch(rng)
            for start in range(0, len(epoch.left), self.options.batch):
                some = slice(start, start + self.options.batch)
                sides = epoch.left[some], epoch.right[some].T
                scores = model(*(tokens(self.encoded, side.reshape(-1), _CPU) for side in sides))
                loss = hinge(scores.view(sides[1].shape), self.options.margin)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                watch(number)

    @torch.no_grad()
    def score(self) -> np.ndarray:
        """In batches of like length, so that the padding is as little as pairlight's."""
        self.model.eval()
        left, right, lengths = self.pairs.left, self.pairs.right, self.encoded.lengths
        scores = np.empty(len(left), np.float32)
        for some in by_length(lengths[left] * lengths[right], BATCH):
            found = self.model(*(tokens(self.encoded, side[some], _CPU) for side in (left, right)))
            scores[some] = found.numpy()
        return scores
