"""Measures search on four collections: each first stage, the model that reranks it, and their blend."""

import csv
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pairlight.core.errors import unknown_name
from pairlight.core.files import write_text
from pairlight.core.markdown import markdown_table
from pairlight.core.progress import ProgressReporter
from pairlight.core.records import RecordError, read_values, write_record
from pairlight.data.pairs import Pairs
from pairlight.data.readers import read_pairs
from pairlight.data.splits import Splits
from pairlight.datasets.catalog import load_dataset
from pairlight.experiments.ready_made import answer_sentences
from pairlight.experiments.sources import data_file
from pairlight.inference.model_folder import load_model, save_model
from pairlight.search.documents import Relevance
from pairlight.search.evaluate import (
    BLEND,
    FIRST_STAGE,
    MODEL,
    best_weight,
    mrr_by_weight,
    score_queries,
    stage_metrics,
)
from pairlight.search.index import Index
from pairlight.search.manifest import FIRST_STAGES, WEIGHT
from pairlight.training.trainer import train

FORMAT = 2  # of the results
MODEL_NAME = "qa-small"
MAX_QUERIES = {"dev": 200, "test": 500}  # a random sample of the queries
TUNED = "tuned blend"
EPOCHS = 3  # of the model that is trained on a collection


@dataclass(frozen=True)
class JudgedQueries:
    """Queries by id, and the documents that are right for them."""

    queries: dict[str, str]
    relevance: Relevance


@dataclass(frozen=True)
class SearchTask:
    """A collection with dev and test queries."""

    texts: list[str]
    dev: JudgedQueries
    test: JudgedQueries
    train: Splits | None = None  # pairs to train a model on, where qa-small has not seen them


def measure_search(
    out: Path, *, data: str | None = None, command: str, reporter: ProgressReporter | None = None
) -> dict[str, Any]:
    """Measure every collection, or those named in `data`, separated by commas; what is finished is not repeated."""
    reporter = reporter or ProgressReporter()
    names = list(SEARCH_TASKS) if data is None else [name.strip() for name in data.split(",")]
    for name in names:
        if name not in SEARCH_TASKS:
            raise unknown_name("collection", name, SEARCH_TASKS, option="data")
    folder = out / "search"
    done = {}
    for name in SEARCH_TASKS:
        path = _result(folder, name)
        found = _read_result(path)
        if found is None and name in names:
            found = _measure(name, SEARCH_TASKS[name](), folder, reporter)
            write_record(path, found, FORMAT)
        if found is not None:
            done[name] = found
    write_text(out / "search.md", f"{search_table(done)}\n\nCommand: `{command}`\n")
    return done


def _result(folder: Path, name: str) -> Path:
    return folder / f"{name.replace('/', '-')}.json"


def _read_result(path: Path) -> dict[str, Any] | None:
    """A result that was measured before, None without one; a damaged one is measured again, with a warning."""
    try:
        return read_values(path, FORMAT, "it is measured again") if path.exists() else None
    except RecordError as error:
        warnings.warn(str(error), stacklevel=2)
        return None


def _measure(name: str, task: SearchTask, folder: Path, reporter: ProgressReporter) -> dict[str, Any]:
    reporter.say(f"{name}: {len(task.texts):,} texts, {len(task.test.queries):,} queries")
    place = folder / f"{name.replace('/', '-')}-index"
    with Index.create(place, task.texts, model=MODEL_NAME, overwrite=True) as index:
        stages = {stage: _stage(index, task, stage, _progress(f"{name}, {stage}", reporter)) for stage in FIRST_STAGES}
    if task.train is not None:
        model = _train(name, task.train, folder, reporter)
        with Index.open(place, model=model) as index:
            for stage in FIRST_STAGES:
                row = f"{stage}, trained"
                stages[row] = _stage(index, task, stage, _progress(f"{name}, {row}", reporter))
    return {"texts": len(task.texts), "queries": len(task.test.queries), "model": MODEL_NAME, "stages": stages}


def _stage(index: Index, task: SearchTask, stage: str, progress: Callable[[float], None]) -> dict[str, Any]:
    scored = {
        split: score_queries(index, judged.queries, first_stage=stage, progress=progress)
        for split, judged in (("dev", task.dev), ("test", task.test))
    }
    weight = best_weight(mrr_by_weight(scored["dev"], task.dev.relevance))
    ranked = {by: (by, WEIGHT) for by in (FIRST_STAGE, MODEL, BLEND)} | {TUNED: (BLEND, weight)}
    metrics = {
        row: stage_metrics({q: each.ranking(*by) for q, each in scored["test"].items()}, task.test.relevance)
        for row, by in ranked.items()
    }
    p50, p99 = np.quantile([1000 * each.seconds for each in scored["test"].values()], [0.5, 0.99]).tolist()
    return {"metrics": {row: asdict(each) for row, each in metrics.items()}, "weight": weight, "p50": p50, "p99": p99}


def _train(name: str, splits: Splits, folder: Path, reporter: ProgressReporter) -> Path:
    """The ready-made model, trained further on the pairs of a collection."""
    out = folder / f"{name.replace('/', '-')}-model"
    if not (out / "config.json").is_file():
        options = {"epochs": EPOCHS, "patience": 0}
        init = load_model(MODEL_NAME, "torch")
        run = train(init.name, splits["train"], splits["dev"], options=options, init=init, reporter=reporter)
        save_model(out, run.trained)
    return out


def _progress(task: str, reporter: ProgressReporter) -> Callable[[float], None]:
    return lambda done: reporter.update(task, done)


def search_table(done: dict[str, Any]) -> str:
    """The results as a Markdown table, that of the guide: a row for each first stage of each collection.

    After the recall, MRR@10 of the first stage alone, the model, and the blends; then how long a query takes.
    """
    head = ["collection (texts)", "first stage", "recall@100", "first stage", "model", "blend", "tuned (weight)"]
    rows = []
    for name, result in done.items():
        for number, (stage, found) in enumerate(result["stages"].items()):
            metrics = found["metrics"]
            rows.append(
                [
                    "" if number else f"{name} ({result['texts']:,})",
                    stage,
                    f"{metrics[FIRST_STAGE]['recall']:.3f}",
                    *(f"{metrics[by]['mrr']:.3f}" for by in (FIRST_STAGE, MODEL, BLEND)),
                    f"{metrics[TUNED]['mrr']:.3f} ({found['weight']:g})",
                    f"{found['p50']:.1f} ms ({found['p99']:.1f})",
                ]
            )
    return markdown_table([*head, "p50 (p99)"], rows, "llrrrrrr")


def _squad() -> SearchTask:
    with data_file("squad-sentences", "pairs.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        texts = list(dict.fromkeys(row["answer"] for row in rows))
    splits = answer_sentences()  # the test blocks have no sentence that qa-small was trained on
    return _task(texts, {split: _positives(splits[split]) for split in MAX_QUERIES})


def _wikiqa() -> SearchTask:
    splits = load_dataset("wikiqa")
    texts = list(dict.fromkeys(pairs.texts[i] for pairs in splits.values() for i in pairs.right))
    return _task(texts, {split: _positives(splits[split]) for split in MAX_QUERIES}, splits)


def _banking77() -> SearchTask:
    """The entries of the FAQ; all of the same intent as a question are right for it."""
    intents: dict[str, str] = {}
    for file in ("train.csv", "test.csv"):
        with data_file("banking77", file).open(encoding="utf-8", newline="") as rows:
            intents |= {_plain(row["text"]): row["category"] for row in csv.DictReader(rows)}
    splits = {split: read_pairs(data_file("banking77", f"faq-{split}.tsv"))[0] for split in ("train", "dev", "test")}
    texts = list(dict.fromkeys(pairs.texts[i] for pairs in splits.values() for i in pairs.right))
    entries: dict[str, list[str]] = {}
    for text in texts:
        entries.setdefault(intents.get(_plain(text), text), []).append(text)
    judged = {
        split: [(query, entries[intents.get(_plain(right[0]), right[0])]) for query, right in _positives(splits[split])]
        for split in MAX_QUERIES
    }
    return _task(texts, judged, splits)


def _quora() -> SearchTask:
    pairs, _ = read_pairs(data_file("quora", "duplicates.tsv"), header=["left", "right"], need_label=False)
    texts = list(dict.fromkeys(pairs.texts[i] for i in pairs.right))
    rows: dict[str, list[str]] = {}
    for i, j in zip(pairs.left, pairs.right, strict=True):
        rows.setdefault(pairs.texts[i], []).append(pairs.texts[j])
    questions = list(rows.items())
    order = np.random.default_rng(0).permutation(len(questions)).tolist()
    half = len(order) // 2
    judged = {"dev": [questions[i] for i in order[:half]], "test": [questions[i] for i in order[half:]]}
    return _task(texts, judged, load_dataset("quora"))


def _plain(text: str) -> str:
    return " ".join(text.split())


def _positives(pairs: Pairs) -> list[tuple[str, list[str]]]:
    """Each left text with its positives."""
    found: dict[str, list[str]] = {}
    for i, j, label in zip(pairs.left, pairs.right, pairs.labels, strict=True):
        if label > 0:
            found.setdefault(pairs.texts[i], []).append(pairs.texts[j])
    return list(found.items())


def _task(
    texts: list[str], judged: Mapping[str, Sequence[tuple[str, list[str]]]], train: Splits | None = None
) -> SearchTask:
    number = {text: str(n) for n, text in enumerate(texts, 1)}  # the ids that an index gives to texts
    parts = {}
    for split, rows in judged.items():
        chosen = np.sort(np.random.default_rng(0).permutation(len(rows))[: MAX_QUERIES[split]]).tolist()
        queries = {f"q{i}": rows[i][0] for i in chosen}
        relevance = {f"q{i}": {number[text]: 1 for text in rows[i][1]} for i in chosen}
        parts[split] = JudgedQueries(queries, relevance)
    return SearchTask(texts, parts["dev"], parts["test"], train)


SEARCH_TASKS: dict[str, Callable[[], SearchTask]] = {
    "squad-sentences": _squad,
    "wikiqa": _wikiqa,
    "banking77": _banking77,
    "quora/duplicates": _quora,
}
