"""Random splits of a table that keep every ranking list whole."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs, duplicate_keys

SPLITS = ("train", "dev", "test")
Splits = dict[str, Pairs]  # the keys are those of SPLITS


def split(pairs: Pairs, fractions: Sequence[float] = (0.8, 0.1, 0.1), seed: int = 0) -> list[Pairs]:
    """Divide the ranking lists of a table at random; each part keeps the table's order.

    The fractions are shares of the ranking lists. Lists whose left texts differ only in case and whitespace go to the
    same part.
    """
    if min(fractions, default=0.0) <= 0 or abs(sum(fractions) - 1) > 1e-6:
        raise InputError(f"fractions={tuple(fractions)} must all be above 0 and sum to 1.")
    cluster = _clusters(pairs)
    count = len(np.unique(cluster))
    if count < len(fractions):
        raise InputError(
            f"{count} ranking lists with different left texts cannot be split into {len(fractions)} parts: give at "
            "least one list for each part."
        )
    sizes = np.diff(np.rint(np.cumsum([0.0, *fractions]) * count).astype(np.int64))
    while not sizes.all():
        sizes[sizes.argmin()] += 1
        sizes[sizes.argmax()] -= 1
    part = np.repeat(np.arange(len(sizes)), sizes)
    np.random.default_rng(seed).shuffle(part)
    return [pairs.take(np.flatnonzero(part[cluster] == number)) for number in range(len(sizes))]


def train_dev_test(pairs: Pairs, seed: int = 0, least: int = 1) -> Splits:
    """Split a table at random into train, dev and test with 80, 10 and 10 percent of its ranking lists.

    Each part has at least `least` lists. Two let positives find negatives in their own part.
    """
    if pairs.lists < 3 * least:
        raise InputError(
            f"{pairs.lists} ranking lists cannot be split into train, dev and test: give at least {3 * least}, or a "
            "file for each."
        )
    share = 0.1 if least == 1 else max(0.1, least / pairs.lists)
    return dict(zip(SPLITS, split(pairs, (1 - 2 * share, share, share), seed), strict=True))


def _clusters(pairs: Pairs) -> NDArray[np.int64]:
    """Return a number for every pair, the same for all lists connected by shared left texts.   [N]"""
    text = duplicate_keys(pairs.texts)[pairs.left]
    root = np.arange(pairs.lists)  # the first list that each list is known to be connected to
    while True:
        first = np.full(len(pairs.texts), len(root))
        np.minimum.at(first, text, root[pairs.group])
        before, root = root, root.copy()
        np.minimum.at(root, pairs.group, first[text])
        if (root == before).all():
            return np.unique(root[pairs.group], return_inverse=True)[1]
