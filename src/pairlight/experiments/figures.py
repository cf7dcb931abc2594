"""Draws the bar chart of a reproduced table."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pairlight.experiments.curves import figure

if TYPE_CHECKING:
    from pairlight.experiments.report import ReportRow

PAPER, OURS = "#c9ced6", "#2166ac"


def draw_bars(path: Path, rows: Sequence["ReportRow"], metric: str) -> None:
    """Draw two bars for each row: the result of the paper and ours, with the standard deviation over seeds."""
    with figure(path, 1, 1, 6.4, 0.8 + 0.4 * len(rows)) as (ax,):
        for number, row in enumerate(rows):
            std = row.std[metric] or 0.0
            for shift, value, error, color in (
                (-0.2, row.paper[metric], 0.0, PAPER),
                (0.2, row.ours[metric], std, OURS),
            ):
                if value is not None:
                    ax.barh(number + shift, value, 0.38, color=color)
                    ax.plot([value - error, value + error], [number + shift] * 2, "k-", lw=1 if error else 0)
                    ax.text(value + error, number + shift, f" {value:.3f}", va="center", fontsize=7)
        ax.set_yticks(range(len(rows)), [row.label for row in rows])
        ax.invert_yaxis()
        ax.margins(x=0.1)  # space for the numbers
        ax.set_xlabel(f"{metric}: gray in the paper, blue here; a line is ± one standard deviation over seeds")
