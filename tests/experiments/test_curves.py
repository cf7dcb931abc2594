"""Learning curves of several models can be compared: the dev metric has one axis."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pairlight.experiments import curves
from pairlight.experiments.spec import EpochResult


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The axes of the figures that are drawn."""
    found: list[Any] = []
    figure = curves.figure

    @contextmanager
    def recording(*arguments: Any) -> Iterator[list[Any]]:
        with figure(*arguments) as axes:
            yield axes
            found.extend(axes[0].figure.axes)

    monkeypatch.setattr(curves, "figure", recording)
    return found


def metric_limits(axes: list[Any]) -> set[tuple[float, float]]:
    return {ax.get_ylim() for ax in axes if "dev MAP" in ax.get_ylabel()}


def test_all_plots_share_one_axis_of_the_metric(drawn: list[Any], tmp_path: Path) -> None:
    low, high = EpochResult(1, 0.9, 0.2, 0.1), EpochResult(1, 0.5, 0.8, 0.1, test=0.9)
    curves.draw_curves(tmp_path / "c.png", {"one": [(low,)], "other": [(high,)], "third": [(low, high)]}, "MAP")
    (limits,) = metric_limits(drawn)
    assert limits[0] < 0.2
    assert limits[1] > 0.9


@pytest.mark.parametrize("metric", [0.5, None, float("nan")])
def test_a_constant_or_unknown_metric_has_an_axis(drawn: list[Any], tmp_path: Path, metric: float | None) -> None:
    curves.draw_curves(tmp_path / "c.png", {"one": [(EpochResult(1, 0.9, metric, 0.1),)]}, "MAP")
    ((lowest, highest),) = metric_limits(drawn)
    assert lowest < 0.5 < highest
