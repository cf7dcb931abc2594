"""The examples of an epoch: lists of a positive and some negatives, or labeled pairs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.data.negatives import mine_negatives
from pairlight.data.pairs import Pairs
from pairlight.training.config import LIST_LOSSES, TrainingConfig

Index = NDArray[np.int64]


def with_mined_negatives(pairs: Pairs, config: TrainingConfig) -> Pairs:
    """Pairs to evaluate a model on: where all are positive and negatives are to be mined, with negatives of their own.

    These are mined among the same pairs: training on evaluation positives as negatives would invert their order.
    """
    if config.negatives == "list" or not np.all(pairs.labels > 0):
        return pairs
    return mine(pairs, config)


def mine(pairs: Pairs, config: TrainingConfig) -> Pairs:
    """The pairs with negatives as the options say."""
    return mine_negatives(pairs, config.negatives, config.negatives_per_positive, config.top, config.seed)


@dataclass(frozen=True)
class Epoch:
    """Left text numbers [T]; right text numbers [T, 1 + J] with the positive first, or labels [T] where J = 0.

    A list with fewer than J negatives repeats them in the same order; `distinct` [T] says how many there are.
    """

    left: Index
    right: Index
    label: NDArray[np.float32] | None
    distinct: Index

    def take(self, rows: Index) -> "Epoch":
        """These examples."""
        label = None if self.label is None else self.label[rows]
        return Epoch(self.left[rows], self.right[rows], label, self.distinct[rows])


class RankingExamples:
    """Draws J negatives in every epoch for each text that has one with a lower label in its ranking list."""

    def __init__(self, pairs: Pairs, negatives_per_positive: int) -> None:
        self.pairs, self.negatives_per_positive = pairs, negatives_per_positive
        # In a list sorted by label, the negatives of a row are those from the list's start to its label's start.
        self.order = np.lexsort((pairs.labels, pairs.group))
        group, label = pairs.group[self.order], pairs.labels[self.order]
        row = np.arange(len(group))
        new_list = np.r_[True, group[1:] != group[:-1]]
        new_label = new_list | np.r_[True, label[1:] != label[:-1]]
        start = np.maximum.accumulate(np.where(new_list, row, 0))
        self.negatives = np.maximum.accumulate(np.where(new_label, row, 0)) - start  # how many each row has
        self.positives = np.flatnonzero(self.negatives)
        self.start = start
        if not len(self.positives):
            raise InputError(
                "No ranking list has both a positive and a negative: add negatives, mine them (negatives='random'), "
                "or train on labels (loss='bce').",
                option="negatives",
            )

    def __len__(self) -> int:
        return len(self.positives)

    def epoch(self, rng: np.random.Generator) -> Epoch:
        # Consecutive entries of a shuffled list, from a random one on: distinct negatives while there are enough.
        row = np.arange(len(self.order))
        label = self.negatives  # rows of one list with the same label share this number
        shuffled = row[np.lexsort((rng.random(len(row)), label, self.start))]
        first = rng.integers(0, 2**31, len(self.positives))
        available = self.negatives[self.positives]
        pick = (first[:, None] + np.arange(self.negatives_per_positive)) % available[:, None]
        drawn = shuffled[self.start[self.positives][:, None] + pick]  # [T, J]
        rows = self.order[np.c_[self.positives, drawn]]  # [T, 1 + J]
        left, right = self.pairs.left[rows[:, 0]].astype(np.int64), self.pairs.right[rows].astype(np.int64)
        return Epoch(left, right, None, np.minimum(available, self.negatives_per_positive))


class LabeledExamples:
    """Every pair once per epoch, with its label."""

    def __init__(self, pairs: Pairs, loss: str) -> None:
        self.pairs, self.label = pairs, pairs.labels
        outside = self.label[(self.label < 0) | (self.label > 1)]
        if loss == "bce" and len(outside):
            raise InputError(
                f"The loss bce needs labels from 0 to 1, and one is {outside[0]:g}: use the loss squared, or divide "
                "the labels by the highest.",
                option="loss",
            )

    def __len__(self) -> int:
        return len(self.pairs)

    def epoch(self, rng: np.random.Generator) -> Epoch:
        pairs = self.pairs
        none = np.zeros(len(pairs), np.int64)
        return Epoch(pairs.left.astype(np.int64), pairs.right.astype(np.int64)[:, None], self.label, none)


def training_examples(pairs: Pairs, config: TrainingConfig) -> RankingExamples | LabeledExamples:
    """The examples of these pairs that the loss needs."""
    if config.loss in LIST_LOSSES:
        return RankingExamples(pairs, config.negatives_per_positive)
    return LabeledExamples(pairs, config.loss)
