"""Learning curves as a picture: training loss and dev metric after every epoch."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curves = Mapping[str, Sequence[list[dict[str, Any]]]]  # label -> for every seed, its epochs


def need_pictures() -> None:
    """Say that matplotlib is missing before hours are spent on what it is to draw."""
    if find_spec("matplotlib") is None:
        raise InputError("The pictures need matplotlib: pip install 'pairlight[plots]'.")


@contextmanager
def figure(path: Path, rows: int, columns: int, width: float, height: float) -> Iterator[list["Axes"]]:
    """Axes, row by row, that become the PNG file at `path`."""
    need_pictures()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"text.parse_math": False, "font.size": 9}):
        drawn = Figure((width * columns, height * rows), layout="constrained")
        axes = drawn.subplots(rows, columns, squeeze=False)
        yield list(axes.flat)
        with atomic_write(path) as file:
            drawn.savefig(file, format="png", dpi=150, bbox_inches="tight", metadata={"Software": None})


def draw_curves(path: Path, curves: Curves, metric: str) -> None:
    """Training loss and dev metric after every epoch: a plot for each row of the table, a line for each seed."""
    shown = {label: seeds for label, seeds in curves.items() if any(seeds)}
    if not shown:
        return
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    with figure(path, rows, columns, 3.4, 2.3) as axes:
        for ax in axes[len(shown) :]:
            ax.set_axis_off()
        for ax, (label, seeds) in zip(axes, shown.items(), strict=False):
            other = ax.twinx()
            for epochs in seeds:
                numbers = [epoch["epoch"] for epoch in epochs]
                dots: dict[str, Any] = {"marker": "."} if len(epochs) == 1 else {}  # a line of one point is not seen
                ax.plot(numbers, [epoch["loss"] for epoch in epochs], color="#b35806", lw=1, ls="--", **dots)
                other.plot(numbers, [epoch["metric"] for epoch in epochs], color="#2166ac", lw=1.2, **dots)
                if epochs and "test" in epochs[0]:
                    other.plot(numbers, [epoch["test"] for epoch in epochs], color="#1b7837", lw=1.2, ls=":", **dots)
            ax.set_title(label, fontsize=9)
            ax.set_xlabel("epoch")
            ax.locator_params(axis="x", integer=True)
            ax.set_ylabel("loss (dashed)", color="#b35806")
            also = ", test (dotted)" if any("test" in epoch for epochs in seeds for epoch in epochs) else ""
            other.set_ylabel(f"dev {metric} (line){also}", color="#2166ac", fontsize=8 if also else 9)
            for side in (ax, other):
                side.ticklabel_format(axis="y", useOffset=False)
