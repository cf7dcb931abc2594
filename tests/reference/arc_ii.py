"""The reference of ARC-II."""

import numpy as np

from reference.common import embed_gated, mlp, relu
from reference.convolutions import ceil_half, fixed_length, max_pool_2x2
from reference.registry import DIM, reference


@reference(
    "arc-ii",
    {"maps": 4, "mlp": 5, "length": 20, **DIM},
    {"maps": 4, "mlp": 5, "length": 7, "layers": 2, "gate": "right", **DIM},
    {"maps": 4, "mlp": 5, "length": 6, "layers": 1, "width": 2, **DIM},
)
def arc_ii(weights, settings, left, right, ngrams):
    width, length = settings["width"], settings["length"]
    u, v = embed_gated(weights, settings, left, right)
    (x, _), (y, _) = fixed_length(u, length), fixed_length(v, length)
    A, B = weights["interact.left.conv.filters.weight"], weights["interact.right.conv.filters.weight"]
    W, b = np.concatenate([A, B], axis=1), weights["interact.right.conv.filters.bias"]

    def pair(i, j):
        if i >= len(u) or j >= len(v):
            return np.zeros(len(b))
        return relu(W @ np.concatenate([*x[i : i + width], *y[j : j + width]]) + b)

    side = length - width + 1
    z = max_pool_2x2(np.array([[pair(i, j) for j in range(side)] for i in range(side)]))
    rows, columns = len(u), len(v)
    for layer in range(settings["layers"] - 1):
        F, b = (weights[f"aggregate.blocks.{layer}.filters.{kind}"] for kind in ("weight", "bias"))
        side, rows, columns = len(z) - width + 1, ceil_half(rows), ceil_half(columns)
        grid = np.zeros((side, side, len(b)))
        for i in range(min(side, rows)):
            for j in range(min(side, columns)):
                grid[i, j] = relu(np.einsum("fcab,abc->f", F, z[i : i + width, j : j + width]) + b)
        z = max_pool_2x2(grid)
    return mlp(weights, "score", z.transpose(2, 0, 1).ravel())
