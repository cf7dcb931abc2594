"""Measures the faithfulness of explanations with every model on the test split of WikiQA."""

import argparse
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from pairlight.core.errors import InputError
from pairlight.core.files import write_text
from pairlight.core.markdown import markdown_table
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits
from pairlight.datasets.catalog import load_dataset
from pairlight.experiments.executor import Completed, Failed, ProcessExecutor
from pairlight.experiments.records import Record
from pairlight.experiments.runner import run_all
from pairlight.experiments.runs import train_run
from pairlight.experiments.spec import RunSpec, plan_runs
from pairlight.experiments.store import ResultStore
from pairlight.explain.faithfulness import DELETED_FRACTIONS, DeletionCurve, deletion_curves
from pairlight.matcher import Matcher
from pairlight.models import MODELS, model_class
from pairlight.text.tokenizer import Tokenizer

DATASET = "wikiqa"
METHODS = {
    "leave-one-out": "leave-one-out",
    "integrated-gradients": "integrated gradients",
    "mechanism": "mechanism",
}


@dataclass(frozen=True)
class FaithfulnessResult(Record):
    """The deletion curves of one model."""

    model: str
    MAP: float  # on test
    fractions: tuple[float, ...]
    curves: tuple[DeletionCurve, ...]
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faithfulness", description=__doc__)
    parser.add_argument("--models", default=",".join(MODELS), help="names separated by commas")
    parser.add_argument("--pairs", type=int, default=500, help="number of random test pairs")
    parser.add_argument("--folder", type=Path, help="folder with the files of WikiQA")
    parser.add_argument("--out", type=Path, default=Path("build", "faithfulness"), help="folder of finished runs")
    given = parser.parse_args()
    try:
        run(given.models.split(","), given.pairs, given.folder, given.out)
    except InputError as error:
        sys.exit(f"faithfulness: {error}")


def run(models: list[str], pairs: int, folder: Path | None, out: Path) -> None:
    """Train each model with seed 1, explain the pairs and write the table; finished models are not run again."""
    for name in models:
        model_class(name)
    found: list[FaithfulnessResult] = []

    def completed(run: Completed[FaithfulnessResult], _: float) -> None:
        found.append(run.result)
        write_text(out / "faithfulness.md", faithfulness_table(found) + "\n")
        print(f"{run.spec.model}: {run.result.seconds:.0f} s", file=sys.stderr, flush=True)

    def failed(run: Failed) -> None:
        print(f"{run.spec.model}: {run.error}", file=sys.stderr, flush=True)

    run_all(
        plan_runs(models, [1], {}),
        partial(measure_model, out, pairs),
        load_dataset(DATASET, folder),
        ResultStore(out / f"{pairs}-pairs", FaithfulnessResult),
        ProcessExecutor(1),
        on_completed=completed,
        on_failed=failed,
    )


def measure_model(out: Path, count: int, spec: RunSpec, splits: Splits) -> FaithfulnessResult:
    """The deletion curves of one model, which is trained unless `out` has it already."""
    folder = out / "models" / spec.name
    if folder.is_dir():
        matcher = Matcher.load(folder)
    else:
        matcher, _ = train_run(spec, splits)
        matcher.save(folder)
    started = time.perf_counter()
    curves = deletion_curves(matcher.scorer, sample_pairs(matcher.scorer.tokenizer, splits["test"], count))
    return FaithfulnessResult(
        spec.model,
        matcher.evaluate(splits["test"]).metrics["MAP"],
        DELETED_FRACTIONS,
        tuple(curves.values()),
        time.perf_counter() - started,
    )


def sample_pairs(tokenizer: Tokenizer, test: Pairs, count: int) -> list[tuple[str, str]]:
    """Random pairs, the same for all models; pairs with a text without words are skipped."""
    rows = np.random.default_rng(1).permutation(len(test))
    pairs = ((test.texts[test.left[row]], test.texts[test.right[row]]) for row in rows)
    return list(islice((pair for pair in pairs if all(map(tokenizer.split, pair))), count))


def faithfulness_table(results: Iterable[FaithfulnessResult]) -> str:
    """The mean drops as a Markdown table; methods that are not better than random words are bold."""
    order = list(MODELS)
    rows = []
    for result in sorted(results, key=lambda each: order.index(each.model)):
        curves = {curve.method: curve for curve in result.curves}
        reference = curves["leave-one-out"]
        cells = [_cell(curves[method], reference.pairs) if method in curves else "–" for method in METHODS]
        rows.append((result.model, f"{result.MAP:.2f}", f"{reference.random_area:#.2g}", *cells))
    return markdown_table(("model", "MAP", "random words", *METHODS.values()), rows, "lrrrrr")


def _cell(curve: DeletionCurve, pairs: int) -> str:
    """The mean drop, with the number of pairs in parentheses if some have no explanation by this method."""
    drop = f"{curve.area:#.2g}"
    return (drop if curve.better_than_random else f"**{drop}**") + (f" ({curve.pairs})" if curve.pairs < pairs else "")


if __name__ == "__main__":
    main()
