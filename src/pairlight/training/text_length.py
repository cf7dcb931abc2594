"""Chooses how many words of a text a model reads, from the lengths of the training texts."""

import numpy as np

from pairlight.data.pairs import Pairs
from pairlight.text.vocabulary import AnyTokenizer

LONGEST = 256  # that is chosen: time and memory grow with it
FEW_TRUNCATED = 0.1  # share of the left or right texts that may be truncated without reading more
READ_WHOLE = 0.95  # share of them that is then read to the end
SAMPLE = 2000  # texts of each side that are looked at


def choose_max_length(tokenizer: AnyTokenizer, pairs: Pairs, usual: int) -> int:
    """`usual`, or enough for most texts, at most `LONGEST`, where more than a few are longer."""
    chosen = usual
    for side in (pairs.left, pairs.right):
        numbers = np.unique(side)
        sample = np.random.default_rng(0).permutation(numbers)[:SAMPLE]
        lengths = tokenizer.tokenize([pairs.texts[i] for i in sample], max(usual, LONGEST)).lengths
        if np.mean(lengths > usual) > FEW_TRUNCATED:
            chosen = max(chosen, int(np.quantile(lengths, READ_WHOLE, method="higher")))
    return chosen
