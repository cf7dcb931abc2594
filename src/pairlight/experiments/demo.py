"""The demo: ranks with a ready-made model, then trains one to find the clause that completes a sentence."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pairlight.core.files import write_text
from pairlight.core.folders import output_folder
from pairlight.core.progress import ProgressReporter
from pairlight.data.pairs import Pairs
from pairlight.datasets.catalog import load_dataset
from pairlight.evaluation.evaluate import evaluate_scores
from pairlight.experiments.records import Value
from pairlight.explain.data import Comparison
from pairlight.explain.render.html import explanation_page
from pairlight.inference.model_folder import CARD, CONFIG, save_model
from pairlight.matcher import Matcher
from pairlight.models import DEFAULT_MODEL
from pairlight.search.index import Index
from pairlight.training.trainer import train

COMMAND, PAGE = "pairlight demo", "explained.html"
METRICS = ("P@1", "MRR")
EXAMPLES = 3
READY_MADE = "qa-small"
QUESTION = "where is my parcel"
ANSWERS = (
    "returns are free within thirty days",
    "the tracking page shows where your delivery is",
    "you can pay with any credit card or by bank transfer",
    "open the sign-in page and choose forgotten password",
)
ANSWER = 1  # the answer to the question
OPTIONS: dict[str, Value] = {"epochs": 2, "batch": 128}  # the defaults would take several minutes here


@dataclass(frozen=True)
class DemoCandidate:
    """A right text with its score."""

    text: str
    score: float
    positive: bool


@dataclass(frozen=True)
class DemoExample:
    """A test list, ranked by the model."""

    left: str
    candidates: tuple[DemoCandidate, ...]


@dataclass(frozen=True)
class DemoResult:
    """Answers ranked without training, test results, ranked examples, and the explanation of the first example."""

    ranked: DemoExample
    results: dict[str, dict[str, float]]
    examples: tuple[DemoExample, ...]
    comparison: Comparison
    page: Path

    def as_dict(self) -> dict[str, Any]:
        examples = [asdict(example) for example in self.examples]
        return {"ranked": asdict(self.ranked), "results": self.results, "examples": examples, "page": str(self.page)}


def run_demo(out: Path, seed: int = 1, reporter: ProgressReporter | None = None) -> DemoResult:
    """Rank answers with a ready-made model; train, evaluate once on test, save to `out`, and explain an example."""
    with output_folder(out, overwrite=True, is_complete=is_demo, what="the model of a demo"):
        reporter = reporter or ProgressReporter()
        found = Matcher.load(READY_MADE).rank(QUESTION, ANSWERS)
        candidates = (
            DemoCandidate(ANSWERS[i], each["score"], i == ANSWER) for each in found for i in (each["corpus_id"],)
        )
        ranked = DemoExample(QUESTION, tuple(candidates))
        reporter.say(f"{READY_MADE}, a ready-made model, ranks first for {QUESTION!r}: {ranked.candidates[0].text!r}")
        splits = load_dataset("sotu", progress=lambda done: reporter.update("Making pairs", done))
        sentences = sum(pairs.lists for pairs in splits.values())
        reporter.say(f"{sentences:,} sentences of State of the Union speeches, each divided at a comma.")
        reporter.say("The task: for each first clause, find its second clause among five.")
        results = {}
        for name in ("random", "bm25"):
            baseline = Matcher(name).fit(splits["train"], splits["dev"], progress=False)
            results[name] = _main_metrics(baseline.evaluate(splits["test"]).metrics)
        run = train(
            DEFAULT_MODEL,
            splits["train"],
            splits["dev"],
            options={**OPTIONS, "seed": seed},
            baseline=False,
            reporter=reporter,
        )
        scores = run.trained.scorer().score_pairs(splits["test"])
        results[DEFAULT_MODEL] = _main_metrics(evaluate_scores(splits["test"], scores).metrics)
        save_model(out, run.trained, results={"test": results[DEFAULT_MODEL]}, command=COMMAND)
        matcher = Matcher.load(out)
        examples = tuple(_example(matcher, splits["test"], number) for number in range(EXAMPLES))
        comparison = matcher.explain(examples[0].left, [candidate.text for candidate in examples[0].candidates])
        write_text(out / PAGE, explanation_page(comparison.explanations))
        return DemoResult(ranked, results, examples, comparison, out / PAGE)


def index_demo(out: Path, reporter: ProgressReporter) -> int:
    """Index the sentences of the demo's speeches into a folder, and return how many there are."""
    pairs = load_dataset("sotu", progress=lambda done: reporter.update("Making pairs", done)).values()
    sentences = (
        f"{part.texts[left]}, {part.texts[right]}"
        for part in pairs
        for left, right, label in zip(part.left, part.right, part.labels, strict=True)
        if label > 0
    )
    with Index.create(
        out,
        dict.fromkeys(sentences),
        overwrite=True,
        progress=lambda done: reporter.update("Indexing", 0.0, f"{done:,} sentences"),
    ) as index:
        return len(index)


def is_demo(out: Path) -> bool:
    """Whether a folder contains the model of an earlier demo, according to its model card."""
    if not (out / CONFIG).is_file() or not (out / CARD).is_file():
        return False
    return f"\n{COMMAND}\n" in (out / CARD).read_text(encoding="utf-8", errors="replace")


def _main_metrics(metrics: dict[str, float]) -> dict[str, float]:
    return {name: metrics[name] for name in METRICS}


def _example(matcher: Matcher, test: Pairs, number: int) -> DemoExample:
    rows = np.flatnonzero(test.group == number)
    texts = [test.texts[i] for i in test.right[rows]]
    left = test.texts[test.left[rows[0]]]
    candidates = (
        DemoCandidate(texts[each["corpus_id"]], each["score"], bool(test.labels[rows[each["corpus_id"]]] > 0))
        for each in matcher.rank(left, texts)
    )
    return DemoExample(left, tuple(candidates))
