"""The pairs that are measured on: texts of a fixed length out of made words, and ragged text as people wrote it."""

from functools import cache

import numpy as np

from pairlight.data.pairs import Pairs
from pairlight.tasks.catalogue import sample

_SYLLABLES = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "el", "ir", "os", "ut")]


@cache
def made(left: int, right: int, lists: int, vocabulary: int = 10_000, seed: int = 0) -> Pairs:
    """Lists of one right and one wrong text, `left` and `right` words long; words are as frequent as in Zipf's law."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, vocabulary + 1)
    share /= share.sum()

    def text(length: int) -> str:
        return " ".join(map(_word, rng.choice(vocabulary, length, p=share)))

    lefts = [text(left) for _ in range(lists)]
    rights = [text(right) for _ in range(2 * lists)]
    return Pairs.of([each for each in lefts for _ in range(2)], rights, [1.0, 0.0] * lists)


@cache
def ragged(lists: int) -> Pairs:
    """Clauses of State of the Union speeches, lists of one right clause and four wrong ones, 8 to 28 words each."""
    return sample("sotu", lists)


def _word(number: int) -> str:
    """A word for each number, three syllables long."""
    syllables = len(_SYLLABLES)
    return "".join(_SYLLABLES[number // syllables**place % syllables] for place in range(3))
