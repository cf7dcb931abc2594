"""Backtraces the path of a spatial scan along its largest gates, or of the longest common subsequence."""

from collections.abc import Sequence
from typing import Any

from pairlight.datasets.lcs import lcs_table

Cells = tuple[tuple[int, int], ...]


def backtrace(gates: Any, *, backwards: bool = False, leave_grid: bool = False) -> Cells:
    """Return the cells (i, j) from the end of a scan to its start, always along the largest gate.

    gates[i][j] holds the gates of a cell towards its diagonal, upper and left neighbor, as nested sequences or as an
    array. A fourth gate, that of the new state, is added to the diagonal one: equation (7) of the Match-SRNN paper has
    one term for both, and with a state of one dimension a match opens only the gate of the new state. With `backwards`
    the scan runs from the last cell to the first, and the neighbors are on the opposite sides. The path stays in the
    grid; with `leave_grid` it follows the largest gate out of it, and its last cell is outside.
    """
    step = 1 if backwards else -1
    L, R = len(gates), len(gates[0])
    i, j = (0, 0) if backwards else (L - 1, R - 1)
    path = [(i, j)]
    while 0 <= i < L and 0 <= j < R:
        diagonal, above, before, *new = map(float, gates[i][j])
        neighbors = (i + step, j + step), (i + step, j), (i, j + step)
        steps = [
            (gate, cell)
            for gate, cell in zip((diagonal + sum(new), above, before), neighbors, strict=True)
            if leave_grid or (0 <= cell[0] < L and 0 <= cell[1] < R)
        ]
        if not steps:
            break
        _, (i, j) = max(steps, key=lambda each: each[0])
        path.append((i, j))
    return tuple(path)


def lcs_path(left: Sequence[str], right: Sequence[str], *, leave_grid: bool = False) -> Cells:
    """Backtrace the dynamic programming table of the longest common subsequence.

    The path follows a match if there is one, otherwise it goes up if that keeps the length, otherwise to the left.
    """
    c = lcs_table(left, right)
    gates = [
        [(2.0 * (a == b), float(c[i, j + 1] == c[i + 1, j + 1]), 0.5) for j, b in enumerate(right)]
        for i, a in enumerate(left)
    ]
    return backtrace(gates, leave_grid=leave_grid)
