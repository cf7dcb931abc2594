"""Toy ranking tasks."""

import numpy as np

from pairlight.data.pairs import Pairs

WORDS = [a + b for a in "bdfgklmnprst" for b in ("ama", "elo", "iri", "odu", "usi")]


def overlap(lists: int, seed: int, negatives_per_positive: int = 3) -> Pairs:
    """Ranking lists of one positive, a shuffled part of the left text, and negatives of other words."""
    rng = np.random.default_rng(seed)
    left, right, label = [], [], []
    for _ in range(lists):
        words = rng.permutation(WORDS)
        query, others = words[:5], words[5:]
        left += [" ".join(query)] * (1 + negatives_per_positive)
        right.append(" ".join(rng.permutation(np.r_[query[:4], others[:1]])))
        right += [" ".join(rng.choice(others, 5, replace=False)) for _ in range(negatives_per_positive)]
        label += [1.0] + [0.0] * negatives_per_positive
    return Pairs.of(left, right, label)


def marked(lists: int, seed: int, negatives_per_positive: int = 3) -> Pairs:
    """Ranking lists whose positive has a certain word and no more in common with the left text than the negatives."""
    rng = np.random.default_rng(seed)
    left, right, label = [], [], []
    for _ in range(lists):
        left += [" ".join(rng.choice(WORDS[2:], 4, replace=False))] * (1 + negatives_per_positive)
        for number in range(1 + negatives_per_positive):
            words = [*rng.choice(WORDS[2:], 4, replace=False), WORDS[min(number, 1)]]
            right.append(" ".join(rng.permutation(words)))
        label += [1.0] + [0.0] * negatives_per_positive
    return Pairs.of(left, right, label)
