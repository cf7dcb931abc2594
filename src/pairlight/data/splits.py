"""A table falls into parts list by list, so that no ranking list is ever torn between training and test."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pairlight.data.pairs import Pairs, copies
from pairlight.core.errors import InputError


def split(pairs: Pairs, fractions: Sequence[float] = (0.8, 0.1, 0.1), seed: int = 0) -> list[Pairs]:
    """The parts of a table, as large as the fractions say in ranking lists drawn by seed, each in the table's order.

    Lists with the same left text, whatever its case and white space, are drawn together.
    """
    if min(fractions, default=0.0) <= 0 or abs(sum(fractions) - 1) > 1e-6:
        raise InputError(f"The fractions {tuple(fractions)} must be above 0 and sum to 1.")
    together = _together(pairs)
    count = len(np.unique(together))
    if count < len(fractions):
        raise InputError(
            f"{count} ranking lists cannot make {len(fractions)} parts: every part needs one with its own left text, "
            "so give more lists."
        )
    sizes = np.diff(np.rint(np.cumsum([0.0, *fractions]) * count).astype(np.int64))
    while not sizes.all():
        sizes[sizes.argmin()] += 1
        sizes[sizes.argmax()] -= 1
    part = np.repeat(np.arange(len(sizes)), sizes)
    np.random.default_rng(seed).shuffle(part)
    return [pairs.take(np.flatnonzero(part[together] == number)) for number in range(len(sizes))]


def _together(pairs: Pairs) -> NDArray[np.int64]:
    """A number for every pair, the same for lists that share a left text.   [N]"""
    asked = copies(pairs.texts)[pairs.left]
    lead = np.arange(pairs.lists)  # the first of the lists that a list belongs with
    while True:
        first = np.full(len(pairs.texts), len(lead))
        np.minimum.at(first, asked, lead[pairs.group])
        before, lead = lead, lead.copy()
        np.minimum.at(lead, pairs.group, first[asked])
        if (lead == before).all():
            return np.unique(lead[pairs.group], return_inverse=True)[1]
