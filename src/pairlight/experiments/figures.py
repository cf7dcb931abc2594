"""The pictures of a report beside its learning curves: bars, and figure 4 of the Match-SRNN paper."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairlight.experiments.curves import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREY = "#c9ced6"


def draw_bars(path: Path, rows: Sequence[dict[str, Any]], metric: str) -> None:
    """For each row of a table, the paper's figure and ours, with our spread where there are several seeds."""
    with figure(path, 1, 1, 6.4, 0.8 + 0.4 * len(rows)) as (ax,):
        for number, row in enumerate(rows):
            ours = row["ours"][metric], row["spread"][metric] or 0.0, "#2166ac"
            for shift, (value, error, colour) in ((-0.2, (row["paper"][metric], 0.0, GREY)), (0.2, ours)):
                if value is not None:
                    ax.barh(number + shift, value, 0.38, color=colour)
                    ax.plot([value - error, value + error], [number + shift] * 2, "k-", lw=1 if error else 0)
                    ax.text(value + error, number + shift, f" {value:.3f}", va="center", fontsize=7)
        ax.set_yticks(range(len(rows)), [row["label"] for row in rows])
        ax.invert_yaxis()
        ax.margins(x=0.1)  # room for the figures
        ax.set_xlabel(f"{metric}: grey the paper's, blue ours; a line is the spread over seeds")


def draw_figure_4(path: Path, example: dict[str, Any]) -> None:
    """The table of dynamic programming, the model's states and its gates, with the paths in grey.

    As in the paper, the first sequence runs across and the second down.
    """
    left, right = example["left"], example["right"]
    with figure(path, 1, 3, 3.9, 4.1) as axes:
        table, states, gates = axes
        _grid(table, "(a) dynamic programming", left, right, example["table_path"])
        _grid(states, "(b) states of Match-SRNN", left, right, example["path"])
        _grid(gates, "(c) gates of Match-SRNN", left, right, example["path"])
        for i in range(len(left) + 1):
            for j in range(len(right) + 1):
                table.text(i, j, str(example["table"][i][j]), ha="center", va="center")
                states.text(
                    i, j, f"{example['states'][i - 1][j - 1]:.2f}" if i and j else "0", ha="center", va="center"
                )
                if i and j:
                    diagonal, top, before, new = example["gates"][i - 1][j - 1]
                    # Each gate stands on the side of the neighbour it lets in; the picture is turned, so top is left.
                    for x, y, gate in ((-0.26, -0.3, diagonal + new), (0.26, -0.3, before), (-0.26, 0.28, top)):
                        gates.text(i + x, j + y, f"{gate:.1f}", ha="center", va="center", fontsize=7)
        gates.set_xlabel(
            "upper left: diagonal and new state\nupper right: from above, lower left: from the left", fontsize=8
        )


def _grid(ax: "Axes", title: str, left: list[str], right: list[str], path: list[tuple[int, int]]) -> None:
    from matplotlib.patches import Rectangle

    ax.set_title(title)
    ax.set_xlim(-0.5, len(left) + 0.5)
    ax.set_ylim(len(right) + 0.5, -0.5)
    ax.set_aspect("equal")
    ax.set_xticks(range(len(left) + 1), ["", *left])
    ax.set_yticks(range(len(right) + 1), ["", *right])
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    for i, j in path:
        ax.add_patch(Rectangle((i - 0.5, j - 0.5), 1, 1, color=GREY, lw=0))
    for at in range(max(len(left), len(right)) + 2):
        ax.axvline(at - 0.5, color="#8a929e", lw=0.6)
        ax.axhline(at - 0.5, color="#8a929e", lw=0.6)
