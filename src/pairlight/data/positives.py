"""Tables of positives only: their labels, and dev lists held out from them."""

from dataclasses import replace

import numpy as np

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.data.splits import split

_MIN_LISTS = 4  # two to train on and two to evaluate on: the negatives of a list come from the others


def as_positives(pairs: Pairs) -> Pairs:
    """The table, with the label 1 for every pair if it has no labels."""
    return pairs if pairs.label is not None else replace(pairs, label=np.ones(len(pairs), np.float32))


def are_positives(pairs: Pairs) -> bool:
    """Whether every pair is a positive with the same label, so that there is nothing to learn without negatives."""
    return bool(np.all(pairs.labels > 0) and np.ptp(pairs.labels) == 0)


def hold_out_positives(pairs: Pairs, seed: int) -> tuple[Pairs, Pairs]:
    """Divide positives into train and dev, with a tenth of the lists in dev but at least two."""
    if pairs.lists < _MIN_LISTS:
        raise InputError(
            f"Negatives cannot be drawn from {pairs.lists} lists of positives: give at least {_MIN_LISTS} different "
            "left texts, or pairs with a label of 0."
        )
    share = max(2, round(pairs.lists / 10)) / pairs.lists
    train, dev = split(pairs, (1 - share, share), seed=seed)
    return train, dev
