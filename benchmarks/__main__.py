"""Runs all benchmarks, or some of them, and writes the results as JSON and Markdown."""

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchmarks import comparisons, growth, machine, search
from benchmarks.every_model import every_model
from benchmarks.kernel_speed import kernel_speed
from benchmarks.light import light
from benchmarks.report import goals, report
from benchmarks.serving import serving
from benchmarks.stored_encodings import stored_encodings
from benchmarks.stored_speed import stored_speed
from benchmarks.subword_ranking import subword_ranking
from pairlight.core.errors import InputError, unknown_name
from pairlight.core.files import write_json, write_text
from pairlight.models import MODELS, model_class

PARTS = (
    "models",
    "double-loop",
    "packed",
    "cross-encoders",
    "subwords",
    "kernels",
    "encodings",
    "stored",
    "growth",
    "start",
    "serving",
    "search",
    "light",
)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round and small sizes, to check that all runs")
    parser.add_argument("--only", default=",".join(MODELS), help="models in the table of every model")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, help="folder (default: benchmarks for a full run, else build/benchmarks)")
    given = parser.parse_args()
    try:
        run(given.quick, given.only.split(","), given.parts.split(","), given.out)
    except InputError as error:
        sys.exit(f"benchmarks: {error}")


def run(quick: bool, models: list[str], parts: list[str], out: Path | None) -> None:
    """Run these parts and write results.json, results.md and figures to `out`."""
    for name in models:
        model_class(name)
    for part in parts:
        if part not in PARTS:
            raise unknown_name("part", part, PARTS)
    whole = not quick and models == list(MODELS) and parts == list(PARTS)
    folder = out or (Path(__file__).parent if whole else Path("build", "benchmarks"))
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    started = time.perf_counter()

    def say(line: str) -> None:
        print(f"{time.perf_counter() - started:5.0f} s  {line}", file=sys.stderr, flush=True)

    if "search" in parts and not search.is_possible(say):
        parts = [part for part in parts if part != "search"]
    rounds = 1 if quick else 3
    results: dict[str, Any] = {"machine": machine.machine(), "quick": quick}
    figures: list[str] = []
    if "models" in parts:
        results["models"] = every_model(models, rounds, say)
    if "double-loop" in parts:
        results["double_loop"] = comparisons.double_loop(("30x40",) if quick else ("30x40", "50x50"), rounds, say)
    if "packed" in parts:
        results["packed"] = comparisons.packed(rounds, say)
    if "cross-encoders" in parts:
        results["cross_encoders"] = comparisons.against_cross_encoders(rounds, say)
    if "subwords" in parts:
        results["subwords"] = subword_ranking(rounds, say)
    if "kernels" in parts:
        results["kernels"] = kernel_speed(rounds, say)
    if "encodings" in parts:
        results["encodings"] = stored_encodings(rounds, say)
    if "stored" in parts:
        results["stored"] = stored_speed((1_000,) if quick else (1_000, 100_000), rounds, say)
    if "growth" in parts:
        results["growth"] = {
            "by_length": growth.by_length((5, 20, 80) if quick else (5, 10, 20, 50, 100, 200, 400), rounds, say),
            "by_vocabulary": growth.by_vocabulary((10_000,) if quick else (10_000, 100_000, 1_000_000), rounds, say),
            "by_pairs": growth.by_pairs((1_000, 10_000) if quick else (10_000, 100_000, 1_000_000), say),
        }
        figures = growth.draw_growth(results["growth"], folder)
    if "start" in parts:
        results["start"] = machine.cold_start(rounds, say)
        results["installed_mb"] = machine.installed_megabytes()
    if "serving" in parts:
        results["serving"] = serving(rounds, say, 1.0 if quick else 5.0)
    if "search" in parts:
        with TemporaryDirectory() as index:
            results["search"] = search.measure(20_000 if quick else 1_000_000, Path(index, "index"), say)
    if "light" in parts:
        results["light"] = light(models, rounds, quick, say)
    results["goals"] = goals(results)
    results["seconds"] = time.perf_counter() - started
    write_json(folder / "results.json", results)
    write_text(folder / "results.md", report(results, figures))
    say(f"Done: {folder / 'results.md'}")


if __name__ == "__main__":
    main()
