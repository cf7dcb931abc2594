"""Measures how cost grows with the length of texts, the size of the vocabulary and the number of pairs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.benchmark_model import BenchmarkModel
from benchmarks.clock import interleaved
from benchmarks.data_path import data_path
from benchmarks.workloads import fixed_length_pairs
from pairlight.core.errors import InputError

MODELS = ("mv-lstm", "match-srnn", "arc-i", "knrm")
_LISTS = 16  # a step of 32 pairs

Say = Callable[[str], None]
Rows = list[dict[str, Any]]


def by_length(lengths: tuple[int, ...], rounds: int, say: Say) -> Rows:
    """Milliseconds of training per pair, for texts of these lengths."""
    rows = []
    for length in lengths:
        say(f"Texts of {length} words")
        pairs = fixed_length_pairs(length, length, _LISTS)
        sides = {name: BenchmarkModel(name, pairs, _LISTS).training_speed for name in MODELS}
        speed = interleaved(sides, rounds)
        rows += [{"words": length, "model": name, "ms": 1000 / speed[name]} for name in MODELS]
    return rows


def by_vocabulary(sizes: tuple[int, ...], rounds: int, say: Say) -> Rows:
    """Milliseconds of training per pair of 30 and 40 words, for vocabularies of these sizes."""
    rows = []
    for size in sizes:
        say(f"A vocabulary of {size:,} words")
        model = BenchmarkModel("mv-lstm", fixed_length_pairs(30, 40, 4 * 64), 64).with_vocabulary(size)
        speed = interleaved({"mv-lstm": model.training_speed}, rounds)
        rows.append({"vocabulary": size, "model": "mv-lstm", "ms": 1000 / speed["mv-lstm"]})
    return rows


def by_pairs(sizes: tuple[int, ...], say: Say) -> Rows:
    """The steps before training, for these numbers of pairs."""
    return [data_path(size, say) for size in sizes]


def draw_growth(results: dict[str, Any], folder: Path) -> list[str]:
    """Draw the measurements and return the file names."""
    try:
        import matplotlib
    except ImportError:
        raise InputError("Plots need matplotlib: pip install 'pairlight[plots]'.") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines: dict[str, tuple[str, str, dict[str, list[tuple[float, float]]]]] = {
        "length": ("words per text", "ms of training per pair", {}),
        "vocabulary": ("vocabulary", "ms of training per pair", {}),
        "pairs": ("pairs", "seconds", {}),
    }
    for row in results["by_length"]:
        lines["length"][2].setdefault(row["model"], []).append((row["words"], row["ms"]))
    for row in results["by_vocabulary"]:
        lines["vocabulary"][2].setdefault(row["model"], []).append((row["vocabulary"], row["ms"]))
    for row in results["by_pairs"]:
        for name, value in row["seconds"].items():
            lines["pairs"][2].setdefault(name, []).append((row["pairs"], value))
    names = []
    for name, (across, up, drawn) in lines.items():
        figure, axes = pyplot.subplots(figsize=(5, 3.5), layout="constrained")
        for label, points in drawn.items():
            axes.plot(*zip(*points, strict=True), marker="o", label=label)
        axes.set(xscale="log", xlabel=across, ylabel=up)
        values = [value for points in drawn.values() for _, value in points]
        if max(values) > 10 * min(values):
            axes.set_yscale("log")
        else:  # a logarithmic axis would exaggerate small differences
            axes.set_ylim(0, 1.2 * max(values))
        axes.legend(frameon=False)
        names.append(f"growth-{name}.png")
        figure.savefig(folder / names[-1], dpi=120, metadata={"Software": None})
        pyplot.close(figure)
    return names
