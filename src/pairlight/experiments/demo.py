"""The demo: trains MV-LSTM to find the clause that completes a sentence, evaluates it, and explains an example."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pairlight.core.files import claim_folder, write_text
from pairlight.core.progress import ProgressReporter
from pairlight.data.pairs import Pairs
from pairlight.datasets.catalog import load_dataset
from pairlight.evaluation.evaluate import evaluate_scores
from pairlight.experiments.records import Value
from pairlight.explain.data import Comparison
from pairlight.explain.render.html import explanation_page
from pairlight.inference.model_folder import CARD, CONFIG, save_model
from pairlight.matcher import Matcher
from pairlight.training.trainer import train

COMMAND, PAGE = "pairlight demo", "explained.html"
METRICS = ("P@1", "MRR")
EXAMPLES = 3
# Chosen on dev, and so that the demo takes less than three minutes on two cores.
SETTINGS: dict[str, Value] = {"interaction": "cosine", "k": 5}
OPTIONS: dict[str, Value] = {"epochs": 3, "lr": 0.1}


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
    """Test results of the model and of baselines, ranked examples, and the explanation of the first example."""

    results: dict[str, dict[str, float]]
    examples: tuple[DemoExample, ...]
    comparison: Comparison
    page: Path

    def as_dict(self) -> dict[str, Any]:
        examples = [asdict(example) for example in self.examples]
        return {"results": self.results, "examples": examples, "page": str(self.page)}


def run_demo(out: Path, seed: int = 1, reporter: ProgressReporter | None = None) -> DemoResult:
    """Train MV-LSTM on sentence completion, evaluate it once on test, save it to `out`, and explain an example."""
    claim_folder(out, overwrite=True, is_ours=_is_demo, what="the model of a demo")
    reporter = reporter or ProgressReporter()
    splits = load_dataset("sotu", progress=lambda done: reporter.update("Making pairs", done))
    sentences = sum(pairs.lists for pairs in splits.values())
    reporter.say(f"{sentences:,} sentences of State of the Union speeches, each divided at a comma.")
    reporter.say("The task: for each first clause, find its second clause among five.")
    results = {}
    for name in ("random", "bm25"):
        baseline = Matcher(name).fit(splits["train"], splits["dev"], progress=False)
        results[name] = _main_metrics(baseline.evaluate(splits["test"]).metrics)
    run = train(
        "mv-lstm",
        splits["train"],
        splits["dev"],
        settings=SETTINGS,
        options={**OPTIONS, "seed": seed},
        baseline=False,
        reporter=reporter,
    )
    scores = run.trained.scorer().score_pairs(splits["test"])
    results["mv-lstm"] = _main_metrics(evaluate_scores(splits["test"], scores).metrics)
    save_model(out, run.trained, results={"test": results["mv-lstm"]}, command=COMMAND)
    matcher = Matcher.load(out)
    examples = tuple(_example(matcher, splits["test"], number) for number in range(EXAMPLES))
    comparison = matcher.explain(examples[0].left, [candidate.text for candidate in examples[0].candidates])
    write_text(out / PAGE, explanation_page(comparison.explanations))
    return DemoResult(results, examples, comparison, out / PAGE)


def _is_demo(out: Path) -> bool:
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
