"""Longest common subsequence: random letter sequences, and how long a sequence of letters both hold in order."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pairlight.data.negatives import Progress
from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError

LETTERS = "ABCDEFGHIJ"
SIZES = {"train": 10_000, "dev": 1_000, "test": 1_000}

PROTOCOL = (
    f"The simulation of the Match-SRNN paper, section 5.2 (Wan et al., IJCAI 2016): pairs of random sequences over "
    f"{LETTERS[0]} to {LETTERS[-1]}; the label is the length of their longest common subsequence, by dynamic "
    "programming, divided by the greatest length a sequence may have. 10,000 pairs train and 1,000 test as in the "
    "paper; 1,000 more are dev."
)


def table(left: Sequence[str], right: Sequence[str]) -> NDArray[np.int64]:
    """c[i, j] = max(c[i, j-1], c[i-1, j], c[i-1, j-1] + 1 where left_i = right_j), 0 at the edges: the paper's (7)."""
    c = np.zeros((len(left) + 1, len(right) + 1), np.int64)
    for i, a in enumerate(left, 1):
        for j, b in enumerate(right, 1):
            c[i, j] = max(c[i, j - 1], c[i - 1, j], c[i - 1, j - 1] + (a == b))
    return c


def lcs(
    *, shortest: int = 5, longest: int = 5, seed: int = 0, limit: int | None = None, progress: Progress | None = None
) -> dict[str, Pairs]:
    """Sequences of `shortest` to `longest` letters, each length as likely; `limit` is the most pairs of a part."""
    if not 1 <= shortest <= longest:
        raise InputError(f"Sequences of {shortest} to {longest} letters are none: give lengths of 1 or more in order.")
    rng = np.random.default_rng(seed)
    sizes = {part: size if limit is None else min(size, limit) for part, size in SIZES.items()}
    parts, done = {}, 0
    for part, size in sizes.items():
        left, right, label = [], [], []
        for _ in range(size):
            one, other = (rng.choice(list(LETTERS), rng.integers(shortest, longest + 1)).tolist() for _ in range(2))
            left.append(" ".join(one))
            right.append(" ".join(other))
            label.append(table(one, other)[-1, -1] / longest)
            done += 1
            if progress is not None:
                progress(done / sum(sizes.values()))
        parts[part] = Pairs.of(left, right, label, [f"{part}-{row}" for row in range(size)])
    return parts
