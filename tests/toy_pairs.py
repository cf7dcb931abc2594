"""A toy task in words: the right text shares words with the left one, the wrong ones do not."""

import numpy as np

from pairlight.data.pairs import Pairs

WORDS = [a + b for a in "bdfgklmnprst" for b in ("ama", "elo", "iri", "odu", "usi")]


def overlap(lists: int, seed: int, negatives_per_positive: int = 3) -> Pairs:
    """`lists` ranking lists of one right text, a shuffled part of the left one, and `wrong` texts of other words."""
    rng = np.random.default_rng(seed)
    left, right, label = [], [], []
    for _ in range(lists):
        words = rng.permutation(WORDS)
        query, others = words[:5], words[5:]
        left += [" ".join(query)] * (1 + wrong)
        right.append(" ".join(rng.permutation(np.r_[query[:4], others[:1]])))
        right += [" ".join(rng.choice(others, 5, replace=False)) for _ in range(wrong)]
        label += [1.0] + [0.0] * wrong
    return Pairs.of(left, right, label)
