"""How far scores fall when the words that explanations rank highest are deleted: every model, on WikiQA's test part."""

import argparse
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pairlight.experiments.compare import Cell, Parts, compare, planned, trained
from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.explain.faithfulness import SHARES, deletion_curves
from pairlight.core.files import write_text
from pairlight.matcher import Matcher
from pairlight.models import MODELS, model_class
from pairlight.datasets.catalogue import load

DATA = "wikiqa"
KINDS = {"leave-one-out": "leave-one-out", "integrated-gradients": "integrated gradients", "mechanism": "own mechanism"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faithfulness", description=__doc__)
    parser.add_argument("--models", default=",".join(MODELS), help="names with commas between them")
    parser.add_argument("--pairs", type=int, default=500, help="pairs of the test part, drawn at random")
    parser.add_argument("--folder", type=Path, help="where the files of WikiQA are")
    parser.add_argument("--out", type=Path, default=Path("build", "faithfulness"), help="what is done is kept here")
    given = parser.parse_args()
    try:
        run(given.models.split(","), given.pairs, given.folder, given.out)
    except InputError as error:
        sys.exit(f"faithfulness: {error}")


def run(models: list[str], pairs: int, folder: Path | None, out: Path) -> None:
    """Train each model with seed 1, explain the pairs and write the table; what `out` holds is not done again."""
    for name in models:
        model_class(name)
    found: list[dict[str, Any]] = []

    def done(cell: Cell, result: dict[str, Any], _: float) -> None:
        found.append(result)
        write_text(out / "faithfulness.md", table(found))
        print(f"{cell.model}: {result['seconds']:.0f} s", file=sys.stderr, flush=True)

    def failed(cell: Cell, error: InputError) -> None:
        print(f"{cell.model}: {error}", file=sys.stderr, flush=True)

    cells, work = [planned(DATA, name, 1, {}) for name in models], partial(faithful, out, pairs)
    compare(load(DATA, folder), cells, out / f"{pairs}-pairs", jobs=1, done=done, failed=failed, work=work)


def faithful(out: Path, count: int, cell: Cell, parts: Parts) -> dict[str, Any]:
    """The deletion curves of one model, which is trained where `out` does not hold it."""
    kept = out / "models" / cell.name
    if kept.is_dir():
        matcher = Matcher.load(kept)
    else:
        matcher, _ = trained(cell, parts)
        matcher.save(kept)
    started = time.perf_counter()
    curves = deletion_curves(matcher, drawn(matcher, parts["test"], count))
    return {
        "model": cell.model,
        "MAP": matcher.evaluate(parts["test"]).metrics["MAP"],
        "shares": SHARES,
        "curves": {by: asdict(each) | {"faithful": each.faithful} for by, each in curves.items()},
        "seconds": time.perf_counter() - started,
    }


def drawn(matcher: Matcher, test: Pairs, count: int) -> list[tuple[str, str]]:
    """As many pairs, the same for every model that splits words alike; texts without a word can't be explained."""
    _, tokenizer = matcher.ready
    rows = np.random.default_rng(1).permutation(len(test))
    both = ((test.texts[test.left[row]], test.texts[test.right[row]]) for row in rows)
    return list(islice((pair for pair in both if all(map(tokenizer.split, pair))), count))


def table(found: Iterable[dict[str, Any]]) -> str:
    """The mean falls beside those with random words; what is no better than random is bold."""
    lines = ["| model | MAP | random words | " + " | ".join(KINDS.values()) + " |", "| --- |" + " ---: |" * 5]
    order = list(MODELS)
    for row in sorted(found, key=lambda each: order.index(each["model"])):
        curves = row["curves"]
        random = np.mean(curves["leave-one-out"]["random"])
        fields = [_field(curves[by], curves["leave-one-out"]["pairs"]) if by in curves else "–" for by in KINDS]
        lines.append(f"| {row['model']} | {row['MAP']:.2f} | {random:#.2g} | " + " | ".join(fields) + " |")
    return "\n".join(lines) + "\n"


def _field(curve: dict[str, Any], pairs: int) -> str:
    """The fall, and in how many pairs it was told where it was not in all."""
    fall = f"{np.mean(curve['falls']):#.2g}"
    return (fall if curve["faithful"] else f"**{fall}**") + (f" ({curve['pairs']})" if curve["pairs"] < pairs else "")


if __name__ == "__main__":
    main()
