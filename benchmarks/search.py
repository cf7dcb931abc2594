"""Measures search over many short texts: time and size of an index, and milliseconds per query of each stage.

Run as `python -m benchmarks.search --texts 1000000`. The texts are sentences of squad-sentences recombined; the
environment variable PAIRLIGHT_DATA points to the folder that has them.
"""

import argparse
import csv
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from benchmarks.clock import own_megabytes
from pairlight.core.errors import InputError
from pairlight.core.files import list_files, write_json
from pairlight.experiments.sources import data_file
from pairlight.search.first_stage import Candidate, FunctionStage
from pairlight.search.index import Index
from pairlight.search.manifest import FIRST_STAGES
from pairlight.search.searcher import Searcher

WORDS = 18  # of a text
QUERIES = 200
REPORTED = 100_000  # texts between two lines of progress


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("--texts", type=int, default=100_000, help="number of texts")
    parser.add_argument("--model", default="qa-small", help="model that reranks, with stored encodings if it has any")
    parser.add_argument("--out", type=Path, default=Path("build", "benchmarks", "search.json"), help="file to write")
    given = parser.parse_args()
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        result = measure(given.texts, Path(folder, "index"), print, given.model)
    write_json(given.out, result)
    print(f"Written to {given.out}")


def is_possible(say: Callable[[str], None]) -> bool:
    """Whether the sentences are there; otherwise say what is missing."""
    try:
        data_file("squad-sentences", "pairs.tsv")
    except InputError as error:
        say(f"Search is not measured: {error}")
        return False
    return True


def measure(texts: int, folder: Path, say: Callable[[str], None], model: str = "qa-small") -> dict[str, Any]:
    """Index so many texts, then search for the same queries with each first stage.

    Where encodings are stored, hybrid search is measured without them too.
    """
    found, questions = sentences_and_questions()
    result: dict[str, Any] = {"texts": texts, "model": model, "indexing": {}, "search": {}}
    for stage in ("bm25", "hybrid"):
        wall, cpu = time.perf_counter(), time.process_time()
        own = [0.0]
        with Index.create(
            folder,
            recombined(found, texts),
            model=model,
            first_stage=stage,
            overwrite=True,
            progress=partial(_indexed, own, say),
        ):
            pass
        seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        sizes = {part: megabytes(folder / part) for part in ("documents", "vectors") if (folder / part).is_dir()}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        result["indexing"][stage] = {
            **seconds,
            "megabytes": sizes,
            "peak_memory_mb": peak,
            "own_memory_mb": max(own),
        }
        say(
            f"{stage}: indexed in {seconds['wall']:.0f} s ({seconds['cpu']:.0f} s CPU), {sizes} MB, memory "
            f"{max(own):.0f} MB, with mapped files at most {peak:.0f} MB"
        )
    result["search"] = searches(folder, sample(questions), say)
    return result


def searches(folder: Path, queries: Sequence[str], say: Callable[[str], None]) -> dict[str, Any]:
    """Milliseconds of each stage of a search, for each first stage."""
    result = {}
    with Index.open(folder) as index:
        searchers = {stage: index.searcher(stage) for stage in FIRST_STAGES}
        if index.manifest.encodings:
            whole = searchers["hybrid"]
            searchers["hybrid, from texts"] = Searcher(FunctionStage(partial(_without_encodings, whole)), whole.scorer)
        for stage, searcher in searchers.items():
            for query in queries[:10]:
                searcher.search(query)  # pages of the files are read, and PyTorch is warm
            taken = [searcher.search(query).seconds for query in queries]
            measured = {
                name: np.quantile([1000 * getattr(each, name) for each in taken], [0.5, 0.99]).round(1).tolist()
                for name in ("first_stage", "rerank", "total")
            }
            result[stage] = measured
            say(f"{stage}: p50 and p99 in ms {measured}")
    return result


def _without_encodings(searcher: Searcher, query: str, k: int) -> list[Candidate]:
    found = searcher.first_stage.candidates(query, k)
    return [replace(each, document=replace(each.document, encoding=None)) for each in found]


def _indexed(own: list[float], say: Callable[[str], None], done: int) -> None:
    """Note the memory after each part, and say how many texts are done; parts are committed one by one.

    It is that of the process itself. The peak of the system also counts files that tantivy maps while it merges them,
    which are several times larger with stored encodings, and whose memory is freed where it is needed.
    """
    own.append(own_megabytes())
    if not done % REPORTED:
        say(f"{done:,} texts are indexed, memory {own[-1]:.0f} MB")


def sentences_and_questions() -> tuple[list[str], list[str]]:
    """What texts are made of, and what is asked."""
    with data_file("squad-sentences", "pairs.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row["answer"] for row in rows], [row["question"] for row in rows]


def sample(questions: Sequence[str]) -> list[str]:
    """Some of the questions, as queries."""
    return list(questions[:: max(1, len(questions) // QUERIES)][:QUERIES])


def recombined(sentences: list[str], count: int) -> Iterator[str]:
    """Texts of 18 words, one after the other: the beginning of one sentence and the end of another."""
    distinct = [each.split() for each in dict.fromkeys(sentences)]
    rng = np.random.default_rng(0)
    half = WORDS // 2
    for i, j in rng.integers(0, len(distinct), (count, 2)):
        yield " ".join(distinct[i][:half] + distinct[j][-half:])


def megabytes(folder: Path) -> float:
    return round(sum(path.stat().st_size for path in list_files(folder)) / 1e6, 1)


if __name__ == "__main__":
    main()
