"""The question answering protocol: find the answer to a question among similar answers."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pairlight.core.errors import InputError
from pairlight.core.progress import Progress
from pairlight.data.negatives import count_distinct_positives, mine_negatives
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits, train_dev_test

MIN_WORDS, MAX_WORDS = 5, 50  # of a question or an answer, by default
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"  # written without spaces: each counts as a word
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\s{_IDEOGRAPHS}]+")


def protocol(min_words: int = MIN_WORDS, max_words: int = MAX_WORDS) -> str:
    """What is done, for the card of the dataset."""
    return (
        "Question answering after the MV-LSTM paper (Wan et al., AAAI 2016). Pairs are used if both texts have "
        f"{min_words} to {max_words} words. The answer to a question is the query of a BM25 search (Lucene's variant) "
        "over all answers; negatives are drawn at random from the best results, excluding duplicates of the question "
        "and of its answers. The lists are split 8:1:1 into train, dev and test by question. The paper names Lucene "
        "without its ranking function, and does not mention duplicates."
    )


PROTOCOL = protocol()


@dataclass(frozen=True)
class QAReport:
    """How many pairs were given and used as positives, and why the others were dropped."""

    pairs: int
    used: int
    dropped: dict[str, int]  # by reason, without reasons that drop no pair

    def __str__(self) -> str:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.items())
        dropped = f"; {self.pairs - self.used:,} dropped: {reasons}" if reasons else ""
        return f"{self.used:,} of {self.pairs:,} pairs are used{dropped}."


def qa(
    pairs: Pairs,
    *,
    negatives_per_positive: int = 4,
    top: int = 1000,
    seed: int = 0,
    limit: int | None = None,
    min_words: int = MIN_WORDS,
    max_words: int = MAX_WORDS,
    progress: Progress | None = None,
    on_report: Callable[[QAReport], None] | None = None,
) -> Splits:
    """Make the dataset from positive pairs of a question and an answer, with one ranking list for each question.

    Pairs with a label of 0 or less are left out, and so are pairs with a text of fewer than `min_words` or more than
    `max_words` words. `limit` draws that many positive pairs at random. `on_report` is called with the number of pairs
    that were dropped and why.
    """
    if not 1 <= min_words <= max_words:
        raise InputError(
            f"min_words={min_words} and max_words={max_words} leave no length: give 1 <= min_words <= max_words.",
            option="min_words",
        )
    lengths = np.fromiter((len(_WORD.findall(text)) for text in pairs.texts), np.int64)
    shortest = np.minimum(lengths[pairs.left], lengths[pairs.right])
    longest = np.maximum(lengths[pairs.left], lengths[pairs.right])
    positive = np.ones(len(pairs), np.bool_) if pairs.label is None else pairs.label > 0
    too_short = positive & (shortest < min_words)
    too_long = positive & ~too_short & (longest > max_words)
    rows = np.flatnonzero(positive & ~too_short & ~too_long)
    if not len(rows):
        raise InputError(
            f"None of the {len(pairs):,} pairs is positive and has {min_words} to {max_words} words in both texts: "
            "give other pairs, or other limits.",
            option="min_words" if np.sum(too_short) >= np.sum(too_long) else "max_words",
        )
    positives = replace(pairs.take(rows), label=np.ones(len(rows), np.float32))
    mined = mine_negatives(positives, "bm25", negatives_per_positive, top, seed, progress, limit)
    distinct = count_distinct_positives(positives)
    drawn = distinct if limit is None else min(limit, distinct)
    used = int(np.sum(mined.labels > 0))
    reasons = {
        "not positive": len(pairs) - int(positive.sum()),
        f"too short (below {min_words} words)": int(too_short.sum()),
        f"too long (above {max_words} words)": int(too_long.sum()),
        "duplicates": len(rows) - distinct,
        "above the limit": distinct - drawn,
        "without negatives": drawn - used,
    }
    if on_report is not None:
        on_report(QAReport(len(pairs), used, {reason: count for reason, count in reasons.items() if count}))
    return train_dev_test(mined, seed)
