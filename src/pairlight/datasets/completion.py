"""The sentence completion protocol: find the second clause of a sentence among similar clauses."""

import re
from collections.abc import Iterable, Iterator

import numpy as np

from pairlight.core.errors import InputError
from pairlight.core.progress import Progress
from pairlight.data.negatives import mine_negatives
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits, train_dev_test

_MIN_WORDS, _MAX_WORDS = 8, 28  # of a clause
_TOP = 101  # the positive itself and the hundred clauses most similar to it

PROTOCOL = (
    "Sentence completion after the MV-LSTM paper (Wan et al., AAAI 2016, after Hu et al., NIPS 2014). Sentences are "
    f"used if a comma divides them into two clauses of {_MIN_WORDS} to {_MAX_WORDS} words; of several such commas, the "
    "one that makes the clauses most equal in length is used. Of sentences with the same first clause, only the first "
    f"is used. Negative second clauses are drawn at random from the {_TOP - 1} most similar to the positive by the "
    "cosine of their tf-idf vectors, excluding duplicates of it. The lists are split 8:1:1 into train, dev and test by "
    "sentence. The paper gives the lengths, the comma and the cosine; the rest is ours."
)

_PARAGRAPH = re.compile(r"\n\s*\n")
_END = re.compile(r"[.!?]+[\"'”’)\]]*\s+(?=[\"'“‘(\[]*(\w))")
# A period after these abbreviations, or after initials such as J. and U.S, does not end a sentence; after "I" it does.
_ABBREVIATION = re.compile(
    r"mr|mrs|ms|dr|st|jr|sr|prof|gen|col|capt|lt|sgt|gov|sen|rep|hon|messrs|no|vs|etc|inc|co|(?!i$)([^\W\d_]\.)*[^\W\d_]",
    re.IGNORECASE,
)


def sentences(text: str) -> Iterator[str]:
    """Split a text into sentences: between an end mark and a capital letter, but not after abbreviations like Mr."""
    for paragraph in _PARAGRAPH.split(text):
        line = " ".join(paragraph.split())
        start = 0
        for end in _END.finditer(line):
            word = line[line.rfind(" ", 0, end.start()) + 1 : end.start()].lstrip("\"'“‘([")
            if end[1].isupper() and not (end[0][0] == "." and _ABBREVIATION.fullmatch(word)):
                yield line[start : end.end()].rstrip()
                start = end.end()
        if start < len(line):
            yield line[start:]


def clauses(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return the two clauses of every sentence that PROTOCOL uses.

    A sentence whose first clause has occurred before is left out, so that every first clause has one positive.
    """
    found: dict[str, tuple[str, str]] = {}
    for text in texts:
        for sentence in sentences(text):
            if pair := _two_clauses(sentence):
                found.setdefault(pair[0].casefold(), pair)
    return list(found.values())


def _two_clauses(sentence: str) -> tuple[str, str] | None:
    words = sentence.split(" ")
    cuts = [
        cut
        for cut in range(_MIN_WORDS, len(words) - _MIN_WORDS + 1)
        if words[cut - 1].endswith(",") and max(cut, len(words) - cut) <= _MAX_WORDS
    ]
    if not cuts:
        return None
    cut = min(cuts, key=lambda cut: abs(len(words) - 2 * cut))
    return " ".join(words[:cut])[:-1].rstrip(), " ".join(words[cut:])


def completion(
    texts: Iterable[str],
    *,
    negatives_per_positive: int = 4,
    seed: int = 0,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Splits:
    """Make the dataset from raw texts, with one ranking list for each sentence.

    `limit` draws that many sentences at random.
    """
    found = clauses(texts)
    if not found:
        raise InputError(
            f"No sentence has a comma between two clauses of {_MIN_WORDS} to {_MAX_WORDS} words: give more text."
        )
    if limit is not None:
        drawn = np.random.default_rng(seed).permutation(len(found))[:limit]
        found = [found[i] for i in np.sort(drawn)]
    first, second = zip(*found, strict=True)
    positives = Pairs.of(first, second, [1.0] * len(found))
    return train_dev_test(mine_negatives(positives, "cosine", negatives_per_positive, _TOP, seed, progress), seed)
