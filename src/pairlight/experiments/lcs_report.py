"""The page of the LCS experiment: all runs, and figure 4 of the Match-SRNN paper for the best one."""

from pathlib import Path

from pairlight.core.markdown import inline_code
from pairlight.experiments.curves import draw_curves
from pairlight.experiments.lcs import EXAMPLE, TARGET, LcsReport, LcsResult, LcsTable, TablePath
from pairlight.experiments.page import PageBlock, PageHeading, PageImage, PageTable, write_page
from pairlight.experiments.papers import LCS
from pairlight.experiments.published import form_notes
from pairlight.experiments.records import write_record
from pairlight.explain.render.image import LcsExample, draw_lcs_figure

_HEAD = [
    "seed",
    "dev error",
    "test error",
    "in letters",
    "optimal paths",
    "by the paper's rule",
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
        f"Last run: {inline_code(report.command)}.",
    ]
    for lengths, table in report.tables.items():
        blocks += _table_blocks(out, f"{name}-{lengths.replace(' ', '-')}", lengths, table)
    write_record(out / f"{name}.json", report)
    return write_page(out / name, f"{LCS}: Match-SRNN counts longest common subsequences", blocks)


def _table_blocks(out: Path, name: str, lengths: str, table: LcsTable) -> list[PageBlock]:
    best = table.best_run
    figure, curves = out / f"{name}-figure-4.png", out / f"{name}-curves.png"
    draw_lcs_figure(figure, _figure_data(best))
    draw_curves(curves, {f"seed {run.seed}": [run.epochs] for run in table.runs}, "error")
    sizes = ", ".join(f"{size:,} {split}" for split, size in table.sizes.items())
    found = best.example.is_optimal or best.example.is_optimal_three_gates
    optimal = "an optimal path" if found else "no optimal path"
    rows = [
        [
            f"{run.seed} (best)" if run is best else f"{run.seed}",
            f"{run.dev['error']:.4f}",
            f"{run.test['error']:.4f}",
            f"{run.test['error in letters']:.3f}",
            f"{run.test['optimal paths']:.1%}",
            f"{run.test['optimal paths with three gates']:.1%}",
            f"{run.example.max_error:.3f}",
            "yes" if _shown_path(run) == run.example.table_path else "no",
            f"{run.train_seconds:.0f}",
        ]
        for run in table.runs
    ]
    return [
        PageHeading(f"Sequences of {lengths} (pairs: {sizes})"),
        PageTable(_HEAD, rows),
        *form_notes(LCS),
        f"The best run has a test error of {best.test['error']:.4f}, and {best.test['optimal paths']:.1%} of its paths "
        "on test are optimal: dynamic programming could have taken them. These paths follow the largest gate, and the "
        "gate of the new state counts as a step along the diagonal, because equation (7) has one term for both. By the "
        "paper's rule a path follows the largest of z_l, z_t and z_d; this misses a match that opens only the gate of "
        f"the new state. It finds {best.test['optimal paths with three gates']:.1%} of the paths.",
        f"The example of the paper, {EXAMPLE[0]} and {EXAMPLE[1]}: states differ from the table by at most "
        f"{best.example.max_error:.3f}, and the gates give {optimal}. The path of the figure follows {_rule(best)}. "
        "States are shown in letters: the score of the model if both sequences ended at that cell, times the greatest "
        "length.",
        PageImage(figure, "The dynamic programming table, the states and the gates, with their paths"),
        PageHeading(f"Learning curves, {lengths}"),
        PageImage(curves, "Training loss and dev error after every epoch"),
    ]


def _shown_path(run: LcsResult) -> TablePath:
    """The path of the example by the paper's rule if that is optimal, else with the gate of the new state."""
    return run.example.paper_path if run.example.is_optimal_three_gates else run.example.path


def _rule(run: LcsResult) -> str:
    if run.example.is_optimal_three_gates:
        return "the paper's rule"
    return "the largest gate, where that of the new state counts as diagonal"


def _figure_data(run: LcsResult) -> LcsExample:
    # The figure has no row and column 0 of the table, so the path counts from 0 and ends in the grid.
    cells = tuple((i - 1, j - 1) for i, j in _shown_path(run) if i and j)
    grid = run.example
    shown = 3 if grid.is_optimal_three_gates else 4  # by the paper's rule, as in its figure, or with the new state
    gates = [[cell[:shown] for cell in row] for row in grid.gates]
    return LcsExample(grid.left, grid.right, grid.states, gates, cells)
