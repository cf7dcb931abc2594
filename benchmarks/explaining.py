"""How long it takes to explain a pair of 50 × 50 words, beside scoring it: every model, its own mechanism and all."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.clock import interleaved, seconds
from benchmarks.workloads import made
from pairlight.core.errors import InputError
from pairlight.matcher import Matcher
from pairlight.models import MODELS, model_class

LENGTH, LIMIT = 50, 0.05  # words of a text, and seconds that the own mechanism may take beyond scoring
_ROUNDS = 7


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explaining", description=__doc__)
    parser.add_argument("--models", default=",".join(MODELS), help="names with commas between them")
    given = parser.parse_args()
    try:
        for name in given.models.split(","):
            model_class(name)
    except InputError as error:
        sys.exit(f"explaining: {error}")
    torch.set_num_threads(1)
    print(table(explaining(given.models.split(","), _ROUNDS, lambda line: print(line, file=sys.stderr, flush=True))))


def explaining(names: list[str], rounds: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """CPU seconds of each model for one pair: its score, its own mechanism, everything."""
    pairs = made(LENGTH, LENGTH, 50)
    left, right = pairs.texts[pairs.left[0]], pairs.texts[pairs.right[0]]
    rows = []
    for name in names:
        say(f"Explaining, {name}")
        torch.manual_seed(0)
        matcher = Matcher(name).fit(pairs, pairs, epochs=0, vectors="none", negatives="list", progress=False)
        if matcher.model is not None:
            with torch.no_grad():
                for parameter in matcher.model.parameters():
                    parameter.normal_(0, 0.1)
        sides = {
            "score": lambda m=matcher: seconds(lambda: m.predict([(left, right)])),
            "mechanism": lambda m=matcher: seconds(lambda: m.explain(left, right, words=False)),
            "all": lambda m=matcher: seconds(lambda: m.explain(left, right)),
        }
        interleaved(sides, 1)  # warm
        rows.append({"model": name, **interleaved(sides, rounds)})
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Milliseconds as a Markdown table; what is over the limit in bold."""
    lines = ["| model | score, ms | own mechanism, ms beyond | everything, ms |", "| --- | ---: | ---: | ---: |"]
    for row in rows:
        beyond = max(row["mechanism"] - row["score"], 0.0)
        shown = f"**{1e3 * beyond:.0f}**" if beyond > LIMIT else f"{1e3 * beyond:.0f}"
        lines.append(f"| {row['model']} | {1e3 * row['score']:.1f} | {shown} | {1e3 * row['all']:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
