"""The LCS experiment: paths are traced and judged by the recursion, and a start is told whole."""

import json
from itertools import pairwise

import numpy as np
import pytest

from pairlight.datasets.lcs import lcs, table
from pairlight.experiments import lcs as experiment
from pairlight.experiments.compare import Cell
from pairlight.experiments.lcs import counted, optimal, table_path, trace
from pairlight.experiments.lcs_report import write_report

LEFT, RIGHT = list("ABCDE"), list("FACGD")
FIGURE_4 = [(5, 5), (4, 5), (3, 4), (3, 3), (2, 2), (1, 2), (0, 1)]


def gates_along(path: list[tuple[int, int]], shut: int = 0) -> np.ndarray:
    """Gates that lead along a path; the diagonal by number `shut` of its two gates."""
    gates = np.full((5, 5, 4), 0.1)
    gates[..., 2] = 0.2
    for (i, j), (k, m) in pairwise(path):
        way = {(1, 1): shut, (1, 0): 1, (0, 1): 2}[i - k, j - m]
        gates[i - 1, j - 1, way] = 0.7
    return gates


def test_dynamic_programming_takes_the_path_of_figure_4() -> None:
    assert table_path(table(LEFT, RIGHT), LEFT, RIGHT) == FIGURE_4


@pytest.mark.parametrize("shut", [0, 3])
def test_the_largest_gate_leads_and_the_new_state_counts_with_the_diagonal(shut: int) -> None:
    assert trace(gates_along(FIGURE_4, shut)) == FIGURE_4
    assert (trace(gates_along(FIGURE_4, shut), new=False) == FIGURE_4) == (shut == 0)


@pytest.mark.parametrize(
    ("path", "good"),
    [
        (FIGURE_4, True),
        ([(5, 5), (5, 4), (4, 4), (3, 4), (3, 3), (2, 2), (1, 2), (0, 1)], False),  # loses the D
        ([(5, 5), (4, 5), (3, 4), (3, 3), (2, 2), (1, 2), (1, 1), (0, 1)], False),  # loses the A
    ],
)
def test_only_a_path_that_loses_no_letter_is_optimal(path: list[tuple[int, int]], good: bool) -> None:
    assert optimal(path, table(LEFT, RIGHT), LEFT, RIGHT) is good


def test_a_start_is_measured_and_its_grid_stands_beside_the_table(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(experiment.OPTIONS, "epochs", 2)
    start = counted(Cell("match-srnn", 3, experiment.SETTINGS, experiment.OPTIONS), lcs(limit=60))
    assert len(start["curve"]) == 2
    assert min(epoch["metric"] for epoch in start["curve"]) == pytest.approx(start["dev"]["error"])
    assert start["test"]["error in letters"] == pytest.approx(5 * start["test"]["error"])
    assert np.shape(start["example"]["states"]) == (5, 5)
    assert np.shape(start["example"]["gates"]) == (5, 5, 4)
    np.testing.assert_allclose(np.sum(start["example"]["gates"], -1), 1, atol=1e-3)
    found = {"length 5": {"sizes": {"train": 60}, "longest": 5, "starts": [start], "best": 0}}
    text = write_report(tmp_path, found, "small", "pairlight reproduce match-srnn-lcs")
    assert f"| start 3 (best) | {start['dev']['error']:.4f} | {start['test']['error']:.4f} |" in text
    assert json.loads((tmp_path / "match-srnn-lcs-small.json").read_text())["found"] == json.loads(json.dumps(found))
    assert "data:image/png;base64," in (tmp_path / "match-srnn-lcs-small.html").read_text()
    pictures = sorted(tmp_path.glob("*.png"))
    assert [picture.name for picture in pictures] == [
        "match-srnn-lcs-small-length-5-curves.png",
        "match-srnn-lcs-small-length-5-figure-4.png",
    ]
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)


@pytest.mark.slow
def test_the_best_of_five_starts_counts_and_shows_the_papers_path(tmp_path) -> None:
    found = experiment.reproduce(tmp_path, seeds=5, jobs=2, small=False, done=lambda *_: None, failed=lambda *_: None)
    for each in found.values():
        best = each["starts"][each["best"]]
        assert best["test"]["error"] <= experiment.TARGET
        assert best["example"]["farthest"] <= 0.15
        assert [tuple(step) for step in best["example"]["path"]] == FIGURE_4
