"""The longest common subsequence protocol: predict how long the LCS of two random letter sequences is."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.core.progress import Progress
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits

LETTERS = "ABCDEFGHIJ"
SIZES = {"train": 10_000, "dev": 1_000, "test": 1_000}

PROTOCOL = (
    "The simulation of the Match-SRNN paper, section 5.2 (Wan et al., IJCAI 2016): pairs of random sequences of the "
    f"letters {LETTERS[0]} to {LETTERS[-1]}. The label is the length of their longest common subsequence, computed by "
    "dynamic programming, divided by the maximum length of a sequence. As in the paper, 10,000 pairs are train and "
    "1,000 are test; unlike the paper, 1,000 more are dev."
)


def lcs_table(left: Sequence[str], right: Sequence[str]) -> NDArray[np.int64]:
    """Compute the dynamic programming table of the longest common subsequence, the paper's equation (7).

    c[i, j] = max(c[i, j-1], c[i-1, j], c[i-1, j-1] + [left_i = right_j]), with c[0, j] = c[i, 0] = 0
    """
    c = np.zeros((len(left) + 1, len(right) + 1), np.int64)
    for i, a in enumerate(left, 1):
        for j, b in enumerate(right, 1):
            c[i, j] = max(c[i, j - 1], c[i - 1, j], c[i - 1, j - 1] + (a == b))
    return c


def lcs(
    *, shortest: int = 5, longest: int = 5, seed: int = 0, limit: int | None = None, progress: Progress | None = None
) -> Splits:
    """Make the dataset from sequences of `shortest` to `longest` letters, all lengths equally likely.

    `limit` is the maximum number of pairs in each split.
    """
    if not 1 <= shortest <= longest:
        raise InputError(
            f"shortest={shortest} and longest={longest} are not valid lengths: shortest must be at least 1 and at most "
            "longest.",
            option="shortest",
        )
    rng = np.random.default_rng(seed)
    sizes = {name: size if limit is None else min(size, limit) for name, size in SIZES.items()}
    splits, done = {}, 0
    for name, size in sizes.items():
        left, right, label = [], [], []
        for _ in range(size):
            one, other = (rng.choice(list(LETTERS), rng.integers(shortest, longest + 1)).tolist() for _ in range(2))
            left.append(" ".join(one))
            right.append(" ".join(other))
            label.append(lcs_table(one, other)[-1, -1] / longest)
            done += 1
            if progress is not None:
                progress(done / sum(sizes.values()))
        splits[name] = Pairs.of(left, right, label, [f"{name}-{row}" for row in range(size)])
    return splits
