"""The reference of MatchPyramid."""

import numpy as np

from reference.common import embed_gated, interact, mlp, relu
from reference.grids import grid_conv, grid_pool
from reference.registry import DIM, reference


@reference(
    "match-pyramid",
    *(
        {"interaction": kind, "channels": 2, "maps": 3, "deep": 4, "mlp": 5, **DIM}
        for kind in ("dot", "cosine", "gaussian", "bilinear", "tensor")
    ),
    {"height": 2, "width": 4, "rows": 3, "columns": 6, "window": 2, "gate": "left", **DIM},
)
def match_pyramid(weights, settings, left, right, ngrams):
    u, v = embed_gated(weights, settings, left, right)
    s = interact(weights, settings, u, v, left, right)
    p = grid_pool(relu(grid_conv(weights, "near", s)), settings["rows"], settings["columns"])
    t = relu(grid_conv(weights, "far", p))
    t = [one[i : i + 2, j : j + 2].max() for one in t for i in range(0, len(one), 2) for j in range(0, len(one[0]), 2)]
    return mlp(weights, "score", np.array(t))
