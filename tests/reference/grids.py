"""Functions for references of models that convolve and pool grids."""

import numpy as np


def grid_conv(weights, name, maps):
    """Windows centered on every cell, zeros around the grid: [C][L][R] -> [maps][L][R]."""
    W, bias = weights[f"{name}.filters.weight"], weights[f"{name}.filters.bias"]
    _, rows, columns = maps.shape
    out = np.empty((len(W), rows, columns))
    rows_before, columns_before = (W.shape[2] - 1) // 2, (W.shape[3] - 1) // 2
    for f in range(len(W)):
        for i in range(rows):
            for j in range(columns):
                out[f, i, j] = bias[f]
                for a in range(W.shape[2]):
                    for b in range(W.shape[3]):
                        y, x = i + a - rows_before, j + b - columns_before
                        if 0 <= y < rows and 0 <= x < columns:
                            out[f, i, j] += W[f, :, a, b] @ maps[:, y, x]
    return out


def wide_grid_conv(weights, name, maps):
    """All windows that overlap the grid."""
    W, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    m = W.shape[2]
    padded = np.pad(maps, ((0, 0), (m - 1, m - 1), (m - 1, m - 1)))
    side = maps.shape[1] + m - 1
    return np.array(
        [
            [[(W[f] * padded[:, i : i + m, j : j + m]).sum() + bias[f] for j in range(side)] for i in range(side)]
            for f in range(len(W))
        ]
    )


def segments(length, count):
    """The positions of each of `count` segments, the longer segments last; a short text starts over."""
    positions = [i % length for i in range(max(length, count))]
    q, r = divmod(len(positions), count)
    sizes = [q] * (count - r) + [q + 1] * r
    return [[positions.pop(0) for _ in range(size)] for size in sizes]


def grid_pool(maps, rows, columns):
    """The largest cell of every pair of segments: [C][L][R] -> [C][rows][columns]."""
    _, L, R = maps.shape
    return np.array(
        [
            [
                [max(one[i, j] for i in row for j in column) for column in segments(R, columns)]
                for row in segments(L, rows)
            ]
            for one in maps
        ]
    )
