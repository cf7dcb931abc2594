"""The page of the LCS experiment: all runs, and figure 4 of the Match-SRNN paper for the best one."""

from pathlib import Path

from pairlight.experiments.curves import draw_curves
from pairlight.experiments.lcs import EXAMPLE, TARGET, LcsGrid, LcsReport, LcsTable
from pairlight.experiments.page import PageBlock, PageHeading, PageImage, PageTable, write_page
from pairlight.experiments.papers import LCS
from pairlight.experiments.records import write_record
from pairlight.explain.render.image import LcsExample, draw_lcs_figure

_HEAD = [
    "seed",
    "dev error",
    "test error",
    "in letters",
    "optimal paths",
    "with three gates",
    "example: largest error of a state",
    "example: path of figure 4",
    "training s",
]


def write_lcs_report(out: Path, report: LcsReport) -> str:
    """Write match-srnn-lcs-`scale`.md, .html and .json with figures to `out`, and return the Markdown."""
    name = f"{LCS}-{report.scale}"
    blocks: list[PageBlock] = [
        f"Section 5 and figure 4 of the Match-SRNN paper (Wan et al., IJCAI 2016). Scale: {report.scale}. The label of "
        "a pair is the length of the longest common subsequence, divided by the greatest length of a sequence. The "
        "paper reports no error, only that for one example the states are identical to the dynamic programming table. "
        f"Our target is a mean absolute error of at most {TARGET} on test. The best run is the one with the lowest "
        "error on dev.",
        f"Last run: `{report.command}`.",
    ]
    for lengths, table in report.tables.items():
        blocks += _table_blocks(out, f"{name}-{lengths.replace(' ', '-')}", lengths, table)
    write_record(out / f"{name}.json", report)
    return write_page(out / name, f"{LCS}: Match-SRNN counts longest common subsequences", blocks)


def _table_blocks(out: Path, name: str, lengths: str, table: LcsTable) -> list[PageBlock]:
    best = table.best_run
    figure, curves = out / f"{name}-figure-4.png", out / f"{name}-curves.png"
    draw_lcs_figure(figure, _figure_data(best.example))
    draw_curves(curves, {f"seed {run.seed}": [run.epochs] for run in table.runs}, "error")
    sizes = ", ".join(f"{size:,} {split}" for split, size in table.sizes.items())
    optimal = "an optimal path" if best.example.is_optimal else "no optimal path"
    rows = [
        [
            f"{run.seed} (best)" if run is best else f"{run.seed}",
            f"{run.dev['error']:.4f}",
            f"{run.test['error']:.4f}",
            f"{run.test['error in letters']:.3f}",
            f"{run.test['optimal paths']:.1%}",
            f"{run.test['optimal paths with three gates']:.1%}",
            f"{run.example.max_error:.3f}",
            "yes" if run.example.path == run.example.table_path else "no",
            f"{run.train_seconds:.0f}",
        ]
        for run in table.runs
    ]
    return [
        PageHeading(f"Sequences of {lengths} (pairs: {sizes})"),
        PageTable(_HEAD, rows),
        f"The best run has a test error of {best.test['error']:.4f}, and {best.test['optimal paths']:.1%} of its paths "
        "on test are optimal: dynamic programming could have taken them. A path follows the largest gate. Unlike the "
        "paper: the gate of the new state counts as a step along the diagonal, because equation (7) has one term for "
        "both. With the other three gates alone, a match that opens only the gate of the new state is missed.",
        f"The example of the paper, {EXAMPLE[0]} and {EXAMPLE[1]}: states differ from the table by at most "
        f"{best.example.max_error:.3f}, and the gates give {optimal}. States are shown in letters: the score of the "
        "model if both sequences ended at that cell, times the greatest length.",
        PageImage(figure, "The dynamic programming table, the states and the gates, with their paths"),
        PageHeading(f"Learning curves, {lengths}"),
        PageImage(curves, "Training loss and dev error after every epoch"),
    ]


def _figure_data(grid: LcsGrid) -> LcsExample:
    # The figure has no row and column 0 of the table, so the path counts from 0 and ends in the grid.
    path = tuple((i - 1, j - 1) for i, j in grid.path if i and j)
    return LcsExample(grid.left, grid.right, grid.states, grid.gates, path)
