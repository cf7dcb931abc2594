"""Measures stored encodings: a query against a thousand texts at each precision, and pairs with repeated texts."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.benchmark_model import BenchmarkModel
from benchmarks.clock import interleaved, seconds
from benchmarks.workloads import fixed_length_pairs
from pairlight.data.pairs import Pairs
from pairlight.experiments.spec import in_paper_form
from pairlight.inference.agreement import agreement
from pairlight.inference.encodings import DTYPES, Encodings
from pairlight.matcher import Matcher

MODELS: tuple[tuple[str, dict[str, Any]], ...] = (
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


def stored_encodings(rounds: int, say: Say) -> dict[str, Rows]:
    """Milliseconds per query, kilobytes per text and rank correlation; pairs per second with and without repeats."""
    pairs = fixed_length_pairs(10, 30, _TEXTS // 2, vocabulary=2000)
    texts = [pairs.texts[i] for i in pairs.right]
    queries = [pairs.texts[i] for i in pairs.left[:: 2 * (_TEXTS // 2 // _QUERIES)]]
    ranking, repeated = [], []
    for name, settings in MODELS:
        what = " ".join([name, *settings.values()])
        say(f"Stored encodings, {what}")
        options: dict[str, Any] = {"vectors": "none", "epochs": 2, "patience": 0, "progress": False}
        matcher = Matcher(name, **in_paper_form(name, settings)).fit(_learnable(pairs), _learnable(pairs), **options)
        ranking += [{"model": what, **row} for row in _rank(matcher, texts, queries, rounds)]
        repeated.append({"model": what, **_repeated(name, settings, rounds)})
    return {"ranking": ranking, "repeated": repeated}


def _learnable(pairs: Pairs) -> Pairs:
    """The same lists, with the left text repeated in the positives."""
    rows = list(zip(pairs.left, pairs.right, pairs.labels, strict=True))
    rights = [f"{pairs.texts[i]} {pairs.texts[j]}" if label else pairs.texts[j] for i, j, label in rows]
    return Pairs.of([pairs.texts[i] for i, _, _ in rows], rights, pairs.labels)


def _rank(matcher: Matcher, texts: list[str], queries: list[str], rounds: int) -> Rows:
    whole = matcher.encode(texts)
    with TemporaryDirectory() as folder:
        kept = {}
        for dtype in DTYPES:
            whole.astype(dtype).save(Path(folder, dtype))
            kept[dtype] = Encodings.load(Path(folder, dtype))

        def ranking(documents: Encodings | list[str]) -> Callable[[], float]:
            return lambda: seconds(lambda: [matcher.rank(q, documents, top_k=10) for q in queries]) / len(queries)

        taken = interleaved({**{name: ranking(each) for name, each in kept.items()}, "texts": ranking(texts)}, rounds)
    rows = []
    for dtype, encodings in kept.items():
        agreed = agreement(matcher.scorer, whole, queries, dtype)
        rows.append(
            {
                "dtype": dtype,
                "ms": 1000 * taken[dtype],
                "ms_from_texts": 1000 * taken["texts"],
                "kb": encodings.bytes_per_text / 1000,
                "spearman": agreed.spearman,
                "top": agreed.top,
            }
        )
    return rows


def _repeated(name: str, settings: dict[str, Any], rounds: int) -> dict[str, float]:
    """Score lists of candidates, with the same query in all pairs of a list, and as many pairs of distinct texts."""
    whole = fixed_length_pairs(10, 30, _LISTS * _CANDIDATES // 2, vocabulary=2000)
    rights = [whole.texts[i] for i in whole.right]
    lefts = [whole.texts[i] for i in whole.left]
    lists = [lefts[2 * (row // _CANDIDATES)] for row in range(len(rights))]
    # The last word makes every left text unique.
    distinct = [f"{text} {row}" for row, text in enumerate(lefts)]
    few = [rights[row % _CANDIDATES] for row in range(len(rights))]
    sides = {
        "distinct": Pairs.of(distinct, rights, whole.labels),
        "lists": Pairs.of(lists, rights, whole.labels),
        "same_candidates": Pairs.of(lists, few, whole.labels),
    }
    return interleaved(
        {side: BenchmarkModel(name, pairs, **settings).scoring_speed for side, pairs in sides.items()}, rounds
    )
