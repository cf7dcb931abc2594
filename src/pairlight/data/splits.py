"""A table falls into parts list by list, so that no ranking list is ever torn between training and test."""

from collections.abc import Sequence

import numpy as np

from pairlight.data.pairs import Pairs
from pairlight.errors import InputError


def split(pairs: Pairs, fractions: Sequence[float] = (0.8, 0.1, 0.1), seed: int = 0) -> list[Pairs]:
    """The parts of a table, as large as the fractions say in ranking lists drawn by seed, each in the table's order."""
    if min(fractions, default=0.0) <= 0 or abs(sum(fractions) - 1) > 1e-6:
        raise InputError(f"The fractions {tuple(fractions)} must be above 0 and sum to 1.")
    lists = pairs.lists
    if lists < len(fractions):
        raise InputError(
            f"{lists} ranking lists cannot make {len(fractions)} parts: every part needs one, so give more lists."
        )
    sizes = np.diff(np.rint(np.cumsum([0.0, *fractions]) * lists).astype(np.int64))
    while not sizes.all():
        sizes[sizes.argmin()] += 1
        sizes[sizes.argmax()] -= 1
    part = np.repeat(np.arange(len(sizes)), sizes)
    np.random.default_rng(seed).shuffle(part)
    return [pairs.take(np.flatnonzero(part[pairs.group] == number)) for number in range(len(sizes))]
