"""Mining of negatives: right texts that do not belong to a left text, drawn at random or from the most similar ones."""

import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, repeat

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError, unknown_name
from pairlight.core.progress import Progress
from pairlight.data.pairs import Floats, Ints, Pairs, duplicate_keys
from pairlight.text.tokenizer import WordSplitter

Index = NDArray[np.int64]
Similarity = Callable[[int], Floats]  # the position of a text -> its similarity to every text

MINING_METHODS = ("random", "bm25", "cosine")


def mine_negatives(
    pairs: Pairs,
    method: str,
    negatives_per_positive: int = 4,
    top: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
    limit: int | None = None,
) -> Pairs:
    """Return every positive pair (label above 0, now 1), each followed by mined negatives (label 0).

    Method "random" draws from all right texts of the table. "bm25" and "cosine" (of tf-idf vectors) draw from the
    `top` right texts most similar to the positive's right text.

    A right text is never drawn for a left text if
      - it is a positive of the same left text or ranking list, or a duplicate of one: the same except for case and
        whitespace, or with the same `right_id`;
      - it is a duplicate of the left text;
      - it has been drawn for the same ranking list before.
    A positive that occurs twice in a list is used once. If too few texts remain, fewer negatives are returned; a list
    without any is left out with a warning. Pairs of the table with a label of 0 or less are left out, but their right
    texts can be drawn. `limit` keeps that many positives, drawn at random; the other positives are still never drawn
    as negatives.
    """
    if method not in MINING_METHODS:
        raise unknown_name("mining method", method, MINING_METHODS, option="negatives")
    if negatives_per_positive < 1 or top < 1:
        raise InputError(f"negatives_per_positive={negatives_per_positive} and top={top} must be at least 1.")
    if pairs.label is None:
        raise InputError(
            "These pairs have no labels: mining negatives needs positive pairs, with a label above 0.", option="label"
        )
    positive = np.flatnonzero(pairs.label > 0)
    if not len(positive):
        raise InputError("No label is above 0: mining negatives needs positive pairs.", option="label")
    key = _duplicate_keys(pairs)
    positive = _distinct(pairs, positive, key)
    positive = positive[np.argsort(pairs.group[positive], kind="stable")]

    left, right = key[pairs.left[positive]], key[pairs.right[positive]]
    by_left = np.argsort(left, kind="stable")
    bounds = np.cumsum(np.bincount(left + 1)).tolist()

    def positives_of(left_key: int) -> list[int]:
        known: list[int] = right[by_left[bounds[left_key] : bounds[left_key + 1]]].tolist()
        return known

    selected = np.ones(len(positive), np.bool_)
    if limit is not None:
        selected[np.random.default_rng(seed).permutation(len(positive))[limit:]] = False
    offered = pairs.label <= 0
    offered[positive[selected]] = True
    offered_rows = np.flatnonzero(offered)
    pool, first = np.unique(key[pairs.right[offered_rows]], return_index=True)
    owner = offered_rows[first]  # the row of each text in the pool
    queries = np.searchsorted(pool, right[selected])
    found = _candidates(method, [pairs.texts[pairs.right[row]] for row in owner], queries, top)
    rng = np.random.default_rng(seed)
    left_rows, right_rows = array("q"), array("q")  # rows of `pairs` that the left and the right texts come from
    lists = without_negatives = 0
    starts = np.flatnonzero(np.diff(pairs.group[positive], prepend=-1)).tolist()
    for start, stop in pairwise([*starts, len(positive)]):
        rows = positive[start:stop][selected[start:stop]].tolist()
        if not rows:
            continue
        left_keys = set(left[start:stop].tolist())
        excluded = left_keys.union(right[start:stop].tolist(), *map(positives_of, left_keys))
        before = len(left_rows)
        lists += 1
        for row, candidates in zip(rows, found, strict=False):
            # Draw enough that the required number remains even if every excluded text is drawn.
            size = min(len(candidates), negatives_per_positive + len(excluded))
            drawn = candidates[rng.choice(len(candidates), size, replace=False)]
            negatives = [at for at in drawn.tolist() if pool[at] not in excluded][:negatives_per_positive]
            excluded.update(pool[negatives].tolist())
            left_rows.extend([row] * (1 + len(negatives)))
            right_rows.extend([row, *owner[negatives].tolist()])
        if len(left_rows) - before == len(rows):
            del left_rows[before:], right_rows[before:]
            without_negatives += 1
        if progress is not None:
            progress(stop / len(positive))
    if not left_rows:
        raise InputError(f"No negative was found for any of {len(queries)} positive pairs: give more pairs.")
    if without_negatives:
        warnings.warn(
            f"No negative was found for {without_negatives:,} of {lists:,} ranking lists; they are left out.",
            stacklevel=2,
        )
    lefts, rights = np.asarray(left_rows), np.asarray(right_rows)
    return Pairs(
        pairs.texts,
        pairs.left[lefts],
        pairs.right[rights],
        pairs.group[lefts],
        (lefts == rights).astype(np.float32),
        None if pairs.left_id is None else [pairs.left_id[row] for row in left_rows],
        None if pairs.right_id is None else [pairs.right_id[row] for row in right_rows],
    ).take(range(len(lefts)))


def count_distinct_positives(pairs: Pairs) -> int:
    """The number of positives that `mine_negatives` uses: a positive that occurs twice in a list counts once."""
    return len(_distinct(pairs, np.flatnonzero(pairs.labels > 0), _duplicate_keys(pairs)))


def _distinct(pairs: Pairs, rows: Index, key: Ints) -> Index:
    """The rows without those that repeat a right text of the same list; of equal ones, the first is kept."""
    _, first = np.unique(np.stack([pairs.group[rows], key[pairs.right[rows]]]), axis=1, return_index=True)
    return rows[np.sort(first)]


def _duplicate_keys(pairs: Pairs) -> Ints:
    """Return a number for every text, the same for duplicates and for right texts with the same id."""
    key = duplicate_keys(pairs.texts)
    if pairs.right_id is None:
        return key
    ids, texts = len(set(pairs.right_id)), len(np.unique(key[pairs.right]))
    if texts > 2 * ids:  # a few texts may be written in several ways, but not most of them
        warnings.warn(
            f"{ids:,} different right_ids belong to {texts:,} different texts, so they seem to be numbers within a "
            "list: duplicates are found by their text alone.",
            stacklevel=3,
        )
        return key
    parent = list(range(len(key)))  # union-find over keys

    def root(of: int) -> int:
        while parent[of] != of:
            parent[of] = of = parent[parent[of]]
        return of

    key_of_id: dict[str, int] = {}
    for number, name in zip(key[pairs.right].tolist(), pairs.right_id, strict=True):
        one, other = root(number), root(key_of_id.setdefault(name, number))
        parent[max(one, other)] = min(one, other)
    return np.fromiter(map(root, key.tolist()), np.int32)


def _candidates(method: str, texts: Sequence[str], queries: Index, top: int) -> Iterator[Index]:
    """Yield the positions of the texts to draw from, for every query; a query is the position of a text itself."""
    if method == "random":
        yield from repeat(np.arange(len(texts)), len(queries))
        return
    similarity = _bm25(texts) if method == "bm25" else _cosine(texts)
    for query in queries.tolist():
        scores = similarity(query)
        count = min(top, len(scores))
        lowest = max(np.partition(scores, -count)[-count], np.float32(0))
        above, tied = np.flatnonzero(scores > lowest), np.flatnonzero(scores == lowest)
        # Ties at the cutoff are broken by position: argpartition would break them differently on different CPUs.
        yield np.sort(np.concatenate([above, tied[: max(top - len(above), 0)]])) if lowest > 0 else above


def _bm25(texts: Sequence[str]) -> Similarity:
    import bm25s

    words = WordSplitter().words
    vocab: dict[str, int] = {}
    ids = [[vocab.setdefault(word, len(vocab)) for word in words(text)] for text in texts]
    if not vocab:
        return lambda query: np.zeros(len(texts), np.float32)
    index = bm25s.BM25(method="lucene")
    index.index((ids, vocab), show_progress=False)
    return lambda query: index.get_scores_from_ids(ids[query])


def _cosine(texts: Sequence[str]) -> Similarity:
    words = WordSplitter().words
    vocab: dict[str, int] = {}
    bounds, terms, frequencies = [0], array("i"), array("f")
    for text in texts:
        counts = Counter(vocab.setdefault(word, len(vocab)) for word in words(text))
        terms.extend(counts.keys())
        frequencies.extend(counts.values())
        bounds.append(len(terms))
    term = np.asarray(terms)
    text_of = np.repeat(np.arange(len(texts)), np.diff(bounds))
    document_frequency = np.bincount(term, minlength=len(vocab))
    weight = np.asarray(frequencies) * (1 + np.log(len(texts) / document_frequency))[term]
    weight = (weight / np.sqrt(np.bincount(text_of, weight**2))[text_of]).astype(np.float32)
    # The inverted index: the same entries sorted by term, so that the texts with a term are adjacent.
    order = np.argsort(term, kind="stable")
    posting_text, posting_weight = text_of[order], weight[order]
    ends = np.cumsum(document_frequency)

    def similarity(query: int) -> Floats:
        scores = np.zeros(len(texts), np.float32)
        for entry in range(bounds[query], bounds[query + 1]):
            stop = ends[term[entry]]
            span = slice(stop - document_frequency[term[entry]], stop)
            np.add.at(scores, posting_text[span], posting_weight[span] * weight[entry])
        return scores

    return similarity
