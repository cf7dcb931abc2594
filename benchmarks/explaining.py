"""Measures how long it takes to explain a pair of 50 x 50 words with every model, compared with scoring it."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch

from benchmarks.clock import interleaved, seconds
from benchmarks.workloads import fixed_length_pairs
from pairlight.core.errors import InputError
from pairlight.core.markdown import markdown_table
from pairlight.matcher import Matcher
from pairlight.models import MODELS, model_class

LENGTH = 50  # words of a text
LIMIT = 0.05  # seconds that the mechanism alone may take in addition to scoring
ROUNDS = 7


@dataclass(frozen=True)
class ExplainTime:
    """CPU seconds of one model for one pair."""

    model: str
    score: float
    mechanism: float  # explain(words=False)
    everything: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explaining", description=__doc__)
    parser.add_argument("--models", default=",".join(MODELS), help="names separated by commas")
    models = parser.parse_args().models.split(",")
    try:
        for name in models:
            model_class(name)
    except InputError as error:
        sys.exit(f"explaining: {error}")
    torch.set_num_threads(1)
    print(time_table(measure_models(models, ROUNDS, lambda line: print(line, file=sys.stderr, flush=True))))


def measure_models(names: list[str], rounds: int, say: Callable[[str], None]) -> list[ExplainTime]:
    """Measure models of default size with random weights."""
    pairs = fixed_length_pairs(LENGTH, LENGTH, 50)
    left, right = pairs.texts[pairs.left[0]], pairs.texts[pairs.right[0]]
    rows = []
    for name in names:
        say(f"Explaining with {name}")
        torch.manual_seed(0)
        matcher = Matcher(name).fit(pairs, pairs, epochs=0, vectors="none", negatives="list", progress=False)
        with torch.no_grad():
            for parameter in matcher.scorer.model.parameters():
                parameter.normal_(0, 0.1)
        sides = {
            "score": lambda m=matcher: seconds(lambda: m.predict([(left, right)])),
            "mechanism": lambda m=matcher: seconds(lambda: m.explain(left, right, words=False)),
            "everything": lambda m=matcher: seconds(lambda: m.explain(left, right)),
        }
        interleaved(sides, 1)  # warm up
        rows.append(ExplainTime(name, **interleaved(sides, rounds)))
    return rows


def time_table(rows: list[ExplainTime]) -> str:
    """Milliseconds as a Markdown table, with times above the limit in bold."""
    cells = []
    for row in rows:
        extra = max(row.mechanism - row.score, 0.0)
        shown = f"**{1e3 * extra:.0f}**" if extra > LIMIT else f"{1e3 * extra:.0f}"
        cells.append((row.model, f"{1e3 * row.score:.1f}", shown, f"{1e3 * row.everything:.0f}"))
    head = ("model", "score, ms", "mechanism, additional ms", "everything, ms")
    return markdown_table(head, cells, "lrrr")


if __name__ == "__main__":
    main()
