"""Compares ways to find the most similar sentence vectors: the scan that pairlight uses, and usearch's scan and graph.

Run as `python -m benchmarks.vector_search --texts 1000000`. The texts are those of `benchmarks.search`; the environment
variable PAIRLIGHT_DATA points to the folder that has their sentences. Everything runs on one thread. Queries are
interleaved: each is answered by all sides in turn. The graph of a million texts takes long to build; everything else is
measured and written before, and `--skip-graph` leaves it out.
"""

import argparse
import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.search import recombined, sample, sentences_and_questions
from pairlight.core.files import list_files, write_json, write_text
from pairlight.core.markdown import markdown_table
from pairlight.search.index import BATCH
from pairlight.search.sentence_vectors import DIM, quantized, sentence_vectors
from pairlight.search.vector_store import VectorStore

TOP = 100  # texts that are wanted
WARM = 10  # queries that are not measured, by each side
EXPANSIONS = (512, 1024, 2048)  # candidates that a search of the graph keeps
PROGRESS = 20_000  # texts between two lines while the graph is built

Numbers = NDArray[np.int64]
Search = Callable[[NDArray[np.float32]], Numbers]  # from a vector to the numbers of the texts
Say = Callable[[str], None]


@dataclass(frozen=True)
class Side:
    """One way to search, and what it took to build."""

    search: Search
    build_cpu: float  # seconds, from the int8 vectors on
    bytes_per_text: float


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vector_search", description=__doc__)
    parser.add_argument("--texts", type=int, default=100_000, help="number of texts")
    parser.add_argument("--skip-graph", action="store_true", help="leave out HNSW, which takes long to build")
    parser.add_argument(
        "--out", type=Path, default=Path("build", "benchmarks", "vector_search.json"), help="file to write, and an .md"
    )
    given = parser.parse_args()
    if reason := missing():
        raise SystemExit(reason)
    started = time.perf_counter()

    def say(line: str) -> None:
        print(f"{time.perf_counter() - started:5.0f} s  {line}", flush=True)

    def write(result: dict[str, Any]) -> None:
        write_json(given.out, result)
        write_text(given.out.with_suffix(".md"), f"{table(result)}\n")

    sentences, questions = sentences_and_questions()
    texts = list(recombined(sentences, given.texts))
    with TemporaryDirectory() as folder:
        measure(texts, sample(questions), Path(folder), not given.skip_graph, say, write)
    say(f"Written to {given.out}")


def missing() -> str | None:
    """Why this cannot be measured here, if it cannot."""
    if importlib.util.find_spec("usearch") is None:
        return "usearch is not installed: pip install '.[bench]'."
    return None


def measure(
    texts: Sequence[str], queries: Sequence[str], folder: Path, graph: bool, say: Say, write: Callable[[Any], None]
) -> dict[str, Any]:
    """Build every side and search with all of them; `write` gets the scans before the graph is built, and the whole."""
    x = sentence_vectors(queries)
    exact, vectors, scan = _scans(texts, x, folder / "store", say)
    sides = {"scan of halves (pairlight)": scan, "exact scan of usearch, int8": _exact_side(vectors)}
    result: dict[str, Any] = {"texts": len(texts), "queries": len(queries), "top": TOP}
    result["sides"] = _measured(sides, x, exact, say)
    write(result)
    if graph:
        sides |= _graph_sides(vectors, say)
        result["sides"] = _measured(sides, x, exact, say)  # all again, so that queries are interleaved with the graph
        write(result)
    return result


def _scans(
    texts: Sequence[str], x: NDArray[np.float32], folder: Path, say: Say
) -> tuple[Numbers, NDArray[np.int8], Side]:
    """The exact best texts of each query by fp32, the int8 vectors, and pairlight's scan of them.

    fp32 vectors are needed for a part of the texts at a time only.
    """
    store, vectors, best = VectorStore(folder), np.empty((len(texts), DIM), np.int8), Best(len(x))
    cpu, source = 0.0, iter(texts)
    for at in range(0, len(texts), BATCH):
        whole = sentence_vectors(list(islice(source, BATCH)))
        best.add(at, x @ whole.T)
        rows, scales = quantized(whole)
        vectors[at : at + len(rows)] = rows
        started = time.process_time()
        store.append([str(number) for number in range(at, at + len(rows))], rows, scales)
        cpu += time.process_time() - started
    size = sum(path.stat().st_size for path in list_files(folder))
    say(f"vectors of {len(texts):,} texts; the store took {cpu:.1f} s CPU")

    def search(vector: NDArray[np.float32]) -> Numbers:
        return np.array([int(name) for name, _ in store.rows.search(vector, TOP)], np.int64)

    return best.numbers, vectors, Side(search, cpu, size / len(texts))


class Best:
    """The texts with the highest scores of each query, when scores come in parts."""

    def __init__(self, queries: int) -> None:
        self.scores, self.numbers = np.empty((queries, 0), np.float32), np.empty((queries, 0), np.int64)

    def add(self, first: int, scores: NDArray[np.float32]) -> None:
        """The scores of all queries [Q, T] with the texts from number `first` on."""
        numbers = np.broadcast_to(np.arange(first, first + scores.shape[1]), scores.shape)
        scores, numbers = np.hstack([self.scores, scores]), np.hstack([self.numbers, numbers])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :TOP]
        self.scores, self.numbers = (np.take_along_axis(each, order, 1) for each in (scores, numbers))


def _exact_side(vectors: NDArray[np.int8]) -> Side:
    from usearch.index import MetricKind, search

    def best(vector: NDArray[np.float32]) -> Numbers:
        query = quantized(vector[None])[0][0]
        found = search(vectors, query, TOP, MetricKind.Cos, exact=True, threads=1)
        return np.asarray(found.keys, np.int64)

    return Side(best, 0.0, vectors.itemsize * DIM)


def _graph_sides(vectors: NDArray[np.int8], say: Say) -> dict[str, Side]:
    """The graph of usearch with its default settings, searched with several expansions."""
    from usearch.index import Index

    index = Index(ndim=DIM, metric="cos", dtype="i8")
    started = time.process_time()
    for at in range(0, len(vectors), PROGRESS):
        part = vectors[at : at + PROGRESS]
        index.add(np.arange(at, at + len(part), dtype=np.uint64), part, threads=1)
        say(f"graph: {at + len(part):,} of {len(vectors):,} texts, {time.process_time() - started:.0f} s CPU")
    cpu, size = time.process_time() - started, index.serialized_length / len(vectors)

    def best(expansion: int, vector: NDArray[np.float32]) -> Numbers:
        index.expansion_search = expansion
        found = index.search(quantized(vector[None])[0][0], TOP, threads=1)
        return np.asarray(found.keys, np.int64)

    return {f"HNSW of usearch, int8, expansion {e}": Side(partial(best, e), cpu, size) for e in EXPANSIONS}


def _measured(
    sides: Mapping[str, Side], x: NDArray[np.float32], exact: Numbers, say: Say
) -> dict[str, dict[str, float]]:
    """The milliseconds of each side and its recall; all sides answer a query before the next one."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    found: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        for vector in x[:WARM]:
            side.search(vector)
    for number, vector in enumerate(x):
        for name, side in sides.items():
            started = time.perf_counter()
            numbers = side.search(vector)
            taken[name].append(1000 * (time.perf_counter() - started))
            found[name].append(recall(numbers, exact[number]))
    measured = {}
    for name, side in sides.items():
        p50, p99 = np.quantile(taken[name], [0.5, 0.99]).tolist()
        costs = {key: value for key, value in asdict(side).items() if key != "search"}
        measured[name] = {"p50": p50, "p99": p99, "recall": float(np.mean(found[name])), **costs}
        say(f"{name}: p50 {p50:.1f} ms, p99 {p99:.1f} ms, recall@{TOP} {measured[name]['recall']:.3f}")
    return measured


def recall(found: Numbers, exact: Numbers) -> float:
    """The part of the exact best texts that was found."""
    return len(np.intersect1d(found, exact)) / len(exact)


def table(result: Mapping[str, Any]) -> str:
    """The results as a Markdown table."""
    head = [f"{result['texts']:,} texts", "p50", "p99", "recall", "build, CPU s", "bytes per text"]
    rows = [
        [
            name,
            f"{each['p50']:.1f} ms",
            f"{each['p99']:.1f} ms",
            f"{each['recall']:.3f}",
            f"{each['build_cpu']:.1f}",
            f"{each['bytes_per_text']:.0f}",
        ]
        for name, each in result["sides"].items()
    ]
    return markdown_table(head, rows, "lrrrrr")


if __name__ == "__main__":
    main()
