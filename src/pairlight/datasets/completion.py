"""Sentence completion: the first clause of a sentence asks for its second, among second clauses much like it."""

import re
from collections.abc import Iterable, Iterator

import numpy as np

from pairlight.data.negatives import Progress, mine
from pairlight.data.pairs import Pairs
from pairlight.data.splits import split
from pairlight.core.errors import InputError

_SHORTEST, _LONGEST = 8, 28  # words of a clause
_LIKE = 101  # a clause itself and the hundred most like it, to draw wrong ones from

PROTOCOL = (
    "Sentence completion as in the MV-LSTM paper (Wan et al., AAAI 2016, after Hu et al., NIPS 2014). Sentences are "
    f"kept that a comma divides in two clauses of {_SHORTEST} to {_LONGEST} words, at the comma that makes them most "
    "equal; of sentences with the same first clause, the first. The wrong second clauses are drawn at random from the "
    f"{_LIKE - 1} most like the right one by the cosine of their tf-idf, never a copy of it. The lists fall into "
    "train, dev and test 8:1:1, sentence by sentence."
)

_PARAGRAPH = re.compile(r"\n\s*\n")
_END = re.compile(r"[.!?]+[\"'”’)\]]*\s+(?=[\"'“‘(\[]*(\w))")
# A full stop after these, or after initials such as J. and U.S, is no end; "so did I." is one.
_SHORTENED = re.compile(
    r"mr|mrs|ms|dr|st|jr|sr|prof|gen|col|capt|lt|sgt|gov|sen|rep|hon|messrs|no|vs|etc|inc|co|(?!i$)([^\W\d_]\.)*[^\W\d_]",
    re.IGNORECASE,
)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text: an end mark, white space and a capital divide them, save after Mr. and the like."""
    for paragraph in _PARAGRAPH.split(text):
        line = " ".join(paragraph.split())
        start = 0
        for end in _END.finditer(line):
            word = line[line.rfind(" ", 0, end.start()) + 1 : end.start()].lstrip("\"'“‘([")
            if end[1].isupper() and not (end[0][0] == "." and _SHORTENED.fullmatch(word)):
                yield line[start : end.end()].rstrip()
                start = end.end()
        if start < len(line):
            yield line[start:]


def clauses(texts: Iterable[str]) -> list[tuple[str, str]]:
    """The sentences that a comma divides in two clauses of 8 to 28 words, at the comma that makes them most equal.

    A sentence is left out where its first clause was seen before: every first clause has one right second.
    """
    found: dict[str, tuple[str, str]] = {}
    for text in texts:
        for sentence in sentences(text):
            if pair := _halves(sentence):
                found.setdefault(pair[0].casefold(), pair)
    return list(found.values())


def _halves(sentence: str) -> tuple[str, str] | None:
    words = sentence.split(" ")
    cuts = [
        cut
        for cut in range(_SHORTEST, len(words) - _SHORTEST + 1)
        if words[cut - 1].endswith(",") and max(cut, len(words) - cut) <= _LONGEST
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
) -> dict[str, Pairs]:
    """The task made of raw texts: train, dev and test (8:1:1), a list for every sentence, or for `limit` of them drawn.

    The wrong second clauses are drawn from the hundred most like the right one, by the cosine of their tf-idf.
    """
    found = clauses(texts)
    if not found:
        raise InputError(
            f"No sentence divides at a comma in two clauses of {_SHORTEST} to {_LONGEST} words: give more text."
        )
    if limit is not None:
        drawn = np.random.default_rng(seed).permutation(len(found))[:limit]
        found = [found[i] for i in np.sort(drawn)]
    first, second = zip(*found, strict=True)
    lists = mine(Pairs.of(first, second, [1.0] * len(found)), "cosine", wrong, _LIKE, seed, progress)
    return dict(zip(("train", "dev", "test"), split(lists, seed=seed), strict=True))
