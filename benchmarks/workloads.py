"""The pairs that are measured on: random words in texts of fixed or random length, and real text."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from pairlight.data.pairs import Pairs
from pairlight.datasets.catalog import sample_dataset

_SYLLABLES = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "el", "ir", "os", "ut")]


@cache
def fixed_length_pairs(left: int, right: int, lists: int, vocabulary: int = 10_000, seed: int = 0) -> Pairs:
    """Lists of one positive and one negative of `left` and `right` words, which follow Zipf's law."""
    rng = np.random.default_rng(seed)
    return _lists(np.full(lists, left), np.full(2 * lists, right), vocabulary, rng)


@cache
def random_length_pairs(least: int, most: int, lists: int, vocabulary: int = 10_000, seed: int = 0) -> Pairs:
    """The same with texts of `least` to `most` words, all lengths equally likely."""
    rng = np.random.default_rng(seed)
    lefts, rights = (rng.integers(least, most + 1, n) for n in (lists, 2 * lists))
    return _lists(lefts, rights, vocabulary, rng)


@cache
def real_text_pairs(lists: int) -> Pairs:
    """Clauses of 8 to 28 words of State of the Union speeches, in lists of one positive and four negatives."""
    return sample_dataset("sotu", lists)


def _lists(lefts: NDArray[np.int64], rights: NDArray[np.int64], vocabulary: int, rng: np.random.Generator) -> Pairs:
    share = 1 / np.arange(1, vocabulary + 1)
    share /= share.sum()
    texts = [" ".join(map(_word, rng.choice(vocabulary, n, p=share))) for n in [*lefts, *rights]]
    left, right = texts[: len(lefts)], texts[len(lefts) :]
    return Pairs.of([each for each in left for _ in range(2)], right, [1.0, 0.0] * len(left))


def _word(number: int) -> str:
    """A word of three syllables for each number."""
    syllables = len(_SYLLABLES)
    return "".join(_SYLLABLES[number // syllables**place % syllables] for place in range(3))
