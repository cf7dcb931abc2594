"""Wrong partners for right pairs: drawn from all right texts, or from those most like the right one."""

import re
import sys
import unicodedata
import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise, repeat

import numpy as np
from numpy.typing import NDArray

from pairlight.data.pairs import Floats, Ints, Pairs, copies
from pairlight.core.errors import InputError

Progress = Callable[[float], None]  # told the share done, 0 to 1
Places = NDArray[np.int64]
Score = Callable[[int], Floats]  # the place of a text -> how like it every text is

WAYS = ("random", "bm25", "cosine")

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"  # written without spaces: every sign counts as a word
_SPACED = re.compile(rf"[{_IDEOGRAPHS}]|[^\s{_IDEOGRAPHS}]+")
_ASCII_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """The lower-case words by which texts are compared."""
    return (_ASCII_WORD if text.isascii() else _any_word()).findall(text.lower())


@cache
def _any_word() -> re.Pattern[str]:
    """An ideograph, or letters and digits with the marks that belong to them, such as the vowels of Indic scripts."""
    marks = "".join(each for each in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(each)[0] == "M")
    letter = rf"[^\W{_IDEOGRAPHS}]"
    return re.compile(rf"[{_IDEOGRAPHS}]|{letter}+(?:[{marks}]+{letter}*)*")


def spaced(text: str) -> int:
    """How many words a text has by its spaces, each ideograph being one."""
    return len(_SPACED.findall(text))


def mine(
    pairs: Pairs,
    how: str,
    negatives_per_positive: int = 4,
    top: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
    limit: int | None = None,
) -> Pairs:
    """Every positive (label above 0, now 1), then `wrong` pairs of its left text with wrong right texts, label 0.

    `random` draws from all right texts of the table, `bm25` and `cosine` (of tf-idf) from the `top` of them most like
    the positive's right text. Never drawn: a right text known for the same left text or list, a copy of one (whatever
    the case and white space, or by the same `right_id`) or of the left text, or one twice in a list. Where too few are
    left, fewer are given, and a list without any is left out with a warning. A positive that comes twice in a list
    counts once. `limit` keeps so many positives, drawn by seed; the others are still known as right. The table's own
    pairs of label 0 or less are dropped, though their right texts may be drawn.
    """
    if how not in WAYS:
        raise InputError(f"There is no way to mine named {how!r}: the ways are {', '.join(WAYS)}.")
    if wrong < 1 or top < 1:
        raise InputError(f"negatives_per_positive={wrong} and top={top} must be 1 or more.")
    if pairs.label is None:
        raise InputError("These pairs have no labels: to mine wrong texts, the right pairs need a label above 0.")
    positive = np.flatnonzero(pairs.label > 0)
    if not len(positive):
        raise InputError("No pair has a label above 0: to mine wrong texts, there must be right ones.")
    key = _keys(pairs)
    _, first = np.unique(np.stack([pairs.group[positive], key[pairs.right[positive]]]), axis=1, return_index=True)
    positive = positive[np.sort(first)]
    positive = positive[np.argsort(pairs.group[positive], kind="stable")]

    left, right = key[pairs.left[positive]], key[pairs.right[positive]]
    by_left = np.argsort(left, kind="stable")
    bounds = np.cumsum(np.bincount(left + 1)).tolist()

    def partners(of: int) -> list[int]:
        known: list[int] = right[by_left[bounds[of] : bounds[of + 1]]].tolist()
        return known

    asked = np.ones(len(positive), np.bool_)
    if limit is not None:
        asked[np.random.default_rng(seed).permutation(len(positive))[limit:]] = False
    offered = pairs.label <= 0
    offered[positive[asked]] = True
    places = np.flatnonzero(offered)
    pool, first = np.unique(key[pairs.right[places]], return_index=True)
    owner = places[first]
    queries = np.searchsorted(pool, right[asked])
    found = _found(how, [pairs.texts[pairs.right[row]] for row in owner], queries, top)
    rng = np.random.default_rng(seed)
    whose_left, whose_right = array("q"), array("q")  # rows of the table
    lists = bare = 0
    starts = np.flatnonzero(np.diff(pairs.group[positive], prepend=-1)).tolist()
    for start, stop in pairwise([*starts, len(positive)]):
        rows = positive[start:stop][asked[start:stop]].tolist()
        if not rows:
            continue
        same = set(left[start:stop].tolist())
        taken = same.union(right[start:stop].tolist(), *map(partners, same))
        before = len(whose_left)
        lists += 1
        for row, candidates in zip(rows, found, strict=False):
            # However many of the drawn are taken already, enough remain.
            drawn = candidates[rng.choice(len(candidates), min(len(candidates), wrong + len(taken)), replace=False)]
            fit = [place for place in drawn.tolist() if pool[place] not in taken][:wrong]
            taken.update(pool[fit].tolist())
            whose_left.extend([row] * (1 + len(fit)))
            whose_right.extend([row, *owner[fit].tolist()])
        if len(whose_left) - before == len(rows):
            del whose_left[before:], whose_right[before:]
            bare += 1
        if progress is not None:
            progress(stop / len(positive))
    if not whose_left:
        raise InputError(f"No wrong text was found for any of {len(queries)} right pairs: give more pairs.")
    if bare:
        warnings.warn(f"{bare:,} of {lists:,} lists found no wrong text and are left out.", stacklevel=2)
    lefts, rights = np.asarray(whose_left), np.asarray(whose_right)
    return Pairs(
        pairs.texts,
        pairs.left[lefts],
        pairs.right[rights],
        pairs.group[lefts],
        (lefts == rights).astype(np.float32),
        None if pairs.left_id is None else [pairs.left_id[row] for row in whose_left],
        None if pairs.right_id is None else [pairs.right_id[row] for row in whose_right],
    ).take(range(len(lefts)))


def _keys(pairs: Pairs) -> Ints:
    """A number for every text, the same for copies and for right texts that go by the same id."""
    key = copies(pairs.texts)
    if pairs.right_id is None:
        return key
    names, texts = len(set(pairs.right_id)), len(np.unique(key[pairs.right]))
    if texts > 2 * names:  # some texts may be written in several ways, but not most
        warnings.warn(
            f"{names:,} right_ids name {texts:,} different texts, so they are taken as numbers within a list: what is "
            "written tells texts apart.",
            stacklevel=3,
        )
        return key
    leads = list(range(len(key)))  # of keys that are the same, all lead to one

    def end(of: int) -> int:
        while leads[of] != of:
            leads[of] = of = leads[leads[of]]
        return of

    named: dict[str, int] = {}
    for number, name in zip(key[pairs.right].tolist(), pairs.right_id, strict=True):
        one, other = end(number), end(named.setdefault(name, number))
        leads[max(one, other)] = min(one, other)
    return np.fromiter(map(end, key.tolist()), np.int32)


def _found(how: str, texts: Sequence[str], queries: Places, top: int) -> Iterator[Places]:
    """For every query, itself the place of a text, the places of the texts to draw from."""
    if how == "random":
        yield from repeat(np.arange(len(texts)), len(queries))
        return
    score = _bm25(texts) if how == "bm25" else _cosine(texts)
    for query in queries.tolist():
        scores = score(query)
        count = min(top, len(scores))
        last = max(np.partition(scores, -count)[-count], np.float32(0))
        better, level = np.flatnonzero(scores > last), np.flatnonzero(scores == last)
        # Of those level with the last, the first of the table: argpartition would take others on other processors.
        yield np.sort(np.concatenate([better, level[: max(top - len(better), 0)]])) if last > 0 else better


def _bm25(texts: Sequence[str]) -> Score:
    import bm25s

    vocab: dict[str, int] = {}
    ids = [[vocab.setdefault(word, len(vocab)) for word in words(text)] for text in texts]
    if not vocab:
        return lambda query: np.zeros(len(texts), np.float32)
    index = bm25s.BM25(method="lucene")
    index.index((ids, vocab), show_progress=False)
    return lambda query: index.get_scores_from_ids(ids[query])


def _cosine(texts: Sequence[str]) -> Score:
    vocab: dict[str, int] = {}
    bounds, terms, times = [0], array("i"), array("f")
    for text in texts:
        counts = Counter(vocab.setdefault(word, len(vocab)) for word in words(text))
        terms.extend(counts.keys())
        times.extend(counts.values())
        bounds.append(len(terms))
    term = np.asarray(terms)
    text_of = np.repeat(np.arange(len(texts)), np.diff(bounds))
    frequency = np.bincount(term, minlength=len(vocab))
    weight = np.asarray(times) * (1 + np.log(len(texts) / frequency))[term]
    weight = (weight / np.sqrt(np.bincount(text_of, weight**2))[text_of]).astype(np.float32)
    # The same entries once more, ordered by term: the texts that hold a term lie side by side.
    order = np.argsort(term, kind="stable")
    holders, weights = text_of[order], weight[order]
    ends = np.cumsum(frequency)

    def score(query: int) -> Floats:
        scores = np.zeros(len(texts), np.float32)
        for entry in range(bounds[query], bounds[query + 1]):
            stop = ends[term[entry]]
            span = slice(stop - frequency[term[entry]], stop)
            np.add.at(scores, holders[span], weights[span] * weight[entry])
        return scores

    return score
