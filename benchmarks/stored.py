"""Texts encoded once: one query against a thousand of them, at each precision, and pairs whose texts come again."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.clock import interleaved, seconds
from benchmarks.subject import Subject
from benchmarks.workloads import made
from pairlight.data.pairs import Pairs
from pairlight.inference.encodings import DTYPES, Encodings, agreement
from pairlight.matcher import Matcher

SUBJECTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("mv-lstm", {"interaction": "cosine"}),
    ("mv-lstm", {"interaction": "bilinear"}),
    ("mv-lstm", {"interaction": "tensor"}),
    ("dssm", {}),
    ("arc-i", {}),
)
_TEXTS, _QUERIES = 1000, 10
_LISTS, _CANDIDATES = 50, 20

Say = Callable[[str], None]
Rows = list[dict[str, Any]]


def stored(rounds: int, say: Say) -> dict[str, Rows]:
    """Milliseconds a query, kilobytes a text and rank correlation; pairs a second with and without repeats."""
    pairs = made(10, 30, _TEXTS // 2, vocabulary=2000)
    texts = [pairs.texts[i] for i in pairs.right]
    queries = [pairs.texts[i] for i in pairs.left[:: 2 * (_TEXTS // 2 // _QUERIES)]]
    ranking, again = [], []
    for name, settings in SUBJECTS:
        what = " ".join([name, *settings.values()])
        say(f"Stored texts, {what}")
        options: dict[str, Any] = {"vectors": "none", "epochs": 2, "patience": 0, "progress": False}
        matcher = Matcher(name, **settings).fit(_shared(pairs), _shared(pairs), **options)
        ranking += [{"model": what, **row} for row in _ranked(matcher, texts, queries, rounds)]
        again.append({"model": what, **_again(name, settings, rounds)})
    return {"ranking": ranking, "again": again}


def _shared(pairs: Pairs) -> Pairs:
    """The same lists with some of the left text in the right one, so that there is something to learn."""
    rows = list(zip(pairs.left, pairs.right, pairs.labels, strict=True))
    rights = [f"{pairs.texts[i]} {pairs.texts[j]}" if label else pairs.texts[j] for i, j, label in rows]
    return Pairs.of([pairs.texts[i] for i, _, _ in rows], rights, pairs.labels)


def _ranked(matcher: Matcher, texts: list[str], queries: list[str], rounds: int) -> Rows:
    whole = matcher.encode(texts)
    with TemporaryDirectory() as folder:
        kept = {}
        for dtype in DTYPES:
            whole.stored_as(dtype).save(Path(folder, dtype))
            kept[dtype] = Encodings.load(Path(folder, dtype))

        def ranking(documents: Encodings | list[str]) -> Callable[[], float]:
            return lambda: seconds(lambda: [matcher.rank(q, documents, top_k=10) for q in queries]) / len(queries)

        taken = interleaved({**{name: ranking(each) for name, each in kept.items()}, "texts": ranking(texts)}, rounds)
    rows = []
    for dtype, encodings in kept.items():
        agreed = agreement(matcher, whole, queries, dtype)
        rows.append(
            {
                "dtype": dtype,
                "ms": 1000 * taken[dtype],
                "ms_from_texts": 1000 * taken["texts"],
                "kb": encodings.bytes_a_text / 1000,
                "spearman": agreed.spearman,
                "top": agreed.top,
            }
        )
    return rows


def _again(name: str, settings: dict[str, Any], rounds: int) -> dict[str, float]:
    """Scoring lists of candidates, each query in all pairs of its list, beside as many pairs of distinct texts."""
    whole = made(10, 30, _LISTS * _CANDIDATES // 2, vocabulary=2000)
    rights = [whole.texts[i] for i in whole.right]
    lefts = [whole.texts[i] for i in whole.left]
    lists = [lefts[2 * (row // _CANDIDATES)] for row in range(len(rights))]
    # Every left text is another one here: the last word differs.
    distinct = [f"{text} {row}" for row, text in enumerate(lefts)]
    few = [rights[row % _CANDIDATES] for row in range(len(rights))]
    sides = {
        "distinct": Pairs.of(distinct, rights, whole.labels),
        "lists": Pairs.of(lists, rights, whole.labels),
        "same_candidates": Pairs.of(lists, few, whole.labels),
    }
    return interleaved({side: Subject(name, pairs, **settings).scored for side, pairs in sides.items()}, rounds)
