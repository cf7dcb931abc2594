"""Draws learning curves: training loss and dev metric after every epoch."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write
from pairlight.experiments.spec import Epochs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOSS, DEV, TEST = "#b35806", "#2166ac", "#1b7837"


def check_matplotlib() -> None:
    """Raise an InputError if matplotlib is missing; called before hours are spent on what it draws."""
    if find_spec("matplotlib") is None:
        raise InputError("Figures need matplotlib: pip install 'pairlight[plots]'.")


@contextmanager
def figure(path: Path, rows: int, columns: int, width: float, height: float) -> Iterator[list["Axes"]]:
    """Axes, row by row, of a figure that is written to `path` as PNG; the size is that of one of them, in inches."""
    check_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"text.parse_math": False, "font.size": 9}):
        drawn = Figure((width * columns, height * rows), layout="constrained")
        axes = drawn.subplots(rows, columns, squeeze=False)
        yield list(axes.flat)
        with atomic_write(path) as file:
            drawn.savefig(file, format="png", dpi=150, bbox_inches="tight", metadata={"Software": None})


def draw_curves(path: Path, curves: Mapping[str, Sequence[Epochs]], metric: str) -> None:
    """Draw one plot for each label with a line for each seed; nothing is written if no label has an epoch.

    The axis of the metric is the same in all plots, so that they can be compared.
    """
    shown = {label: seeds for label, seeds in curves.items() if any(seeds)}
    if not shown:
        return
    lowest, highest = _metric_range(shown)
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    with figure(path, rows, columns, 3.4, 2.3) as axes:
        for ax in axes[len(shown) :]:
            ax.set_axis_off()
        for ax, (label, seeds) in zip(axes, shown.items(), strict=False):
            other = ax.twinx()
            for epochs in seeds:
                numbers = [epoch.epoch for epoch in epochs]
                dots: dict[str, Any] = {"marker": "."} if len(epochs) == 1 else {}  # a line with one point is invisible
                ax.plot(numbers, [epoch.loss for epoch in epochs], color=LOSS, lw=1, ls="--", **dots)
                other.plot(numbers, _points(epoch.metric for epoch in epochs), color=DEV, lw=1.2, **dots)
                if any(epoch.test is not None for epoch in epochs):
                    other.plot(numbers, _points(epoch.test for epoch in epochs), color=TEST, lw=1.2, ls=":", **dots)
            other.set_ylim(lowest, highest)
            ax.set_title(label, fontsize=9)
            ax.set_xlabel("epoch")
            ax.locator_params(axis="x", integer=True)
            ax.set_ylabel("loss (dashed)", color=LOSS)
            has_test = any(epoch.test is not None for epochs in seeds for epoch in epochs)
            test = ", test (dotted)" if has_test else ""
            other.set_ylabel(f"dev {metric} (line){test}", color=DEV, fontsize=8 if has_test else 9)
            for side in (ax, other):
                side.ticklabel_format(axis="y", useOffset=False)


def _metric_range(curves: Mapping[str, Sequence[Epochs]]) -> tuple[float, float]:
    """The limits of an axis that all values of the metric fit on."""
    epochs = [epoch for seeds in curves.values() for run in seeds for epoch in run]
    values = [value for epoch in epochs for value in (epoch.metric, epoch.test) if value is not None]
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    margin = 0.05 * (max(finite) - min(finite)) or 0.05
    return min(finite) - margin, max(finite) + margin


def _points(values: Iterable[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]  # a gap in the line
