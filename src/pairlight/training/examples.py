"""What one epoch shows the model: lists of one better and some worse texts, or labelled pairs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairlight.data.negatives import mine
from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.training.config import TrainingConfig

Index = NDArray[np.int64]


def with_mined_negatives(pairs: Pairs, options: TrainingConfig) -> Pairs:
    """Pairs to measure a model on: where they are right ones alone and wrong ones are to be mined, with their own.

    Mined out of these pairs themselves, since training on their right texts as wrong ones would turn the order round.
    """
    if options.negatives == "list" or not np.all(pairs.labels > 0):
        return pairs
    return mine(pairs, options.negatives, options.negatives_per_positive, options.top, options.seed)


@dataclass(frozen=True)
class Epoch:
    """Left text numbers [T], right text numbers [T, 1 + J] with the better one first, or labels [T] where J = 0."""

    left: Index
    right: Index
    label: NDArray[np.float32] | None


class Lists:
    """Draws J worse texts anew each epoch for every text that has a worse one in its ranking list."""

    def __init__(self, pairs: Pairs, negatives_per_positive: int) -> None:
        self.pairs, self.wrong = pairs, wrong
        # In a list sorted by label, the worse texts of a row are those from the list's start to its label's start.
        self.order = np.lexsort((pairs.labels, pairs.group))
        group, label = pairs.group[self.order], pairs.labels[self.order]
        row = np.arange(len(group))
        new_list = np.r_[True, group[1:] != group[:-1]]
        new_label = new_list | np.r_[True, label[1:] != label[:-1]]
        start = np.maximum.accumulate(np.where(new_list, row, 0))
        self.worse = np.maximum.accumulate(np.where(new_label, row, 0)) - start  # how many are worse than each row
        self.better = np.flatnonzero(self.worse)
        self.start = start
        if not len(self.better):
            raise InputError(
                "No ranking list has both a better and a worse text: give negatives, mine them (--negatives random), "
                "or train on labels (--loss cross-entropy)."
            )

    def __len__(self) -> int:
        return len(self.better)

    def epoch(self, rng: np.random.Generator) -> Epoch:
        # A random turn through a shuffled list gives different worse texts while there are enough of them.
        row = np.arange(len(self.order))
        label = self.worse  # rows of one list with the same label share this number
        shuffled = row[np.lexsort((rng.random(len(row)), label, self.start))]
        turn = rng.integers(0, 2**31, len(self.better))
        pick = (turn[:, None] + np.arange(self.wrong)) % self.worse[self.better][:, None]  # [T, J]
        worse = shuffled[self.start[self.better][:, None] + pick]
        rows = self.order[np.c_[self.better, worse]]  # [T, 1 + J]
        return Epoch(self.pairs.left[rows[:, 0]].astype(np.int64), self.pairs.right[rows].astype(np.int64), None)


class Labelled:
    """Every pair once an epoch, with its label."""

    def __init__(self, pairs: Pairs, loss: str) -> None:
        self.pairs, self.label = pairs, pairs.labels
        odd = self.label[(self.label < 0) | (self.label > 1)]
        if loss == "bce" and len(odd):
            raise InputError(
                f"A label is {odd[0]:g}, and cross-entropy wants labels from 0 to 1: train with --loss squared, or "
                "divide the labels by the highest."
            )

    def __len__(self) -> int:
        return len(self.pairs)

    def epoch(self, rng: np.random.Generator) -> Epoch:
        pairs = self.pairs
        return Epoch(pairs.left.astype(np.int64), pairs.right.astype(np.int64)[:, None], self.label)
