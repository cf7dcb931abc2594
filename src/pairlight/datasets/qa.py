"""The question answering protocol: find the answer to a question among similar answers."""

import re
from dataclasses import replace

import numpy as np

from pairlight.core.errors import InputError
from pairlight.core.progress import Progress
from pairlight.data.negatives import mine_negatives
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits, train_dev_test

_MIN_WORDS, _MAX_WORDS = 5, 50  # of a question or an answer
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"  # written without spaces: each counts as a word
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\s{_IDEOGRAPHS}]+")

PROTOCOL = (
    "Question answering as in the MV-LSTM paper (Wan et al., AAAI 2016). Pairs are used if both texts have "
    f"{_MIN_WORDS} to {_MAX_WORDS} words. The answer to a question is the query of a BM25 search (Lucene's variant) "
    "over all answers; negatives are drawn at random from the best results, excluding duplicates of the question and "
    "of its answers. The lists are split 8:1:1 into train, dev and test by question."
)


def qa(
    pairs: Pairs,
    *,
    negatives_per_positive: int = 4,
    top: int = 1000,
    seed: int = 0,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Splits:
    """Make the dataset from positive pairs of a question and an answer, with one ranking list for each question.

    Pairs with a label of 0 or less are left out. `limit` draws that many positive pairs at random.
    """
    fits = np.fromiter((_MIN_WORDS <= len(_WORD.findall(text)) <= _MAX_WORDS for text in pairs.texts), np.bool_)
    used = fits[pairs.left] & fits[pairs.right]
    if pairs.label is not None:
        used &= pairs.label > 0
    rows = np.flatnonzero(used)
    if not len(rows):
        raise InputError(
            f"None of the {len(pairs):,} pairs is positive and has {_MIN_WORDS} to {_MAX_WORDS} words in both texts: "
            "give other pairs."
        )
    positives = replace(pairs.take(rows), label=np.ones(len(rows), np.float32))
    return train_dev_test(mine_negatives(positives, "bm25", negatives_per_positive, top, seed, progress, limit), seed)
