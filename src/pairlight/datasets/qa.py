"""Question answering: a question asks for its answer, among answers that a search engine finds like it."""

from dataclasses import replace

import numpy as np

from pairlight.data.negatives import Progress, mine, spaced
from pairlight.data.pairs import Pairs
from pairlight.data.splits import split
from pairlight.core.errors import InputError

_SHORTEST, _LONGEST = 5, 50  # words of a question or an answer

PROTOCOL = (
    "Question answering as in the MV-LSTM paper (Wan et al., AAAI 2016). Pairs are kept whose two texts have "
    f"{_SHORTEST} to {_LONGEST} words. The right answer of a question is the query against all answers kept, by BM25 "
    "in Lucene's form; the wrong answers are drawn at random from the best of what it finds, never a copy of a right "
    "answer or of the question. The lists fall into train, dev and test 8:1:1, question by question."
)


def qa(
    pairs: Pairs,
    *,
    negatives_per_positive: int = 4,
    top: int = 1000,
    seed: int = 0,
    limit: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Pairs]:
    """The task made of right pairs (all of them, or those of a label above 0), or of `limit` of them drawn by seed."""
    fit = np.fromiter((_SHORTEST <= spaced(text) <= _LONGEST for text in pairs.texts), np.bool_)
    kept = fit[pairs.left] & fit[pairs.right]
    if pairs.label is not None:
        kept &= pairs.label > 0
    rows = np.flatnonzero(kept)
    if not len(rows):
        raise InputError(
            f"None of the {len(pairs):,} pairs is a right one whose two texts have {_SHORTEST} to {_LONGEST} words: "
            "give others."
        )
    right = replace(pairs.take(rows), label=np.ones(len(rows), np.float32))
    lists = mine(right, "bm25", wrong, top, seed, progress, limit)
    return dict(zip(("train", "dev", "test"), split(lists, seed=seed), strict=True))
