"""The reference of MultiGranCNN."""

import numpy as np

from reference.common import embed_gated, mlp, relu, sigmoid
from reference.convolutions import filtered, kmax_in_order, wide_windows
from reference.grids import grid_pool, wide_grid_conv
from reference.registry import DIM, reference


def units(weights, name, settings, x):
    """The words, the phrases of every layer, and the whole text."""
    n, width, layers = len(x), settings["width"], settings["layers"]
    f = np.tanh if settings["preset"] == "paper" else relu
    found, z = list(x), x
    for layer in range(1, layers + 1):
        y = [f(out) for out in filtered(weights, f"{name}.convs.{layer - 1}.filters", wide_windows(z, width))]
        found += y
        k = 1 if layer == layers else max(settings["least"], -(-(layers - layer) * n // layers))
        z = list(np.stack([kmax_in_order([out[d] for out in y], k) for d in range(len(x[0]))], axis=1))
    return found + z


@reference(
    "multigran-cnn",
    *(
        {"interaction": kind, "grid": 8, "middle": 5, "last": 3, "maps": 2, "mlp": 5, **DIM}
        for kind in ("indirect", "direct", "concat")
    ),
    {"width": 2, "layers": 2, "least": 2, "grid": 4, "middle": 4, "gate": "both", **DIM},
    {"preset": "mv-lstm", "grid": 6, "mlp": 5, **DIM},
)
def multigran_cnn(weights, settings, left, right, ngrams):
    paper = settings["preset"] == "paper"

    def similarity(a, b):
        if paper and settings["interaction"] == "direct":
            return np.exp(-np.sum((a - b) ** 2) / 4)
        if paper and settings["interaction"] == "concat":
            w = [weights["interact.inner.left.weight"][0], weights["interact.inner.right.weight"][0]]
            s = np.concatenate(w) @ np.concatenate([a, b]) + weights["interact.inner.left.bias"][0]
        else:
            s = a @ weights["interact.inner.weight"] @ b + weights["interact.inner.bias"][0]
        return sigmoid(s) if paper else relu(s)

    u, v = embed_gated(weights, settings, left, right)
    u, v = units(weights, "encode.0", settings, u), units(weights, "encode.0" if paper else "encode.1", settings, v)
    g = grid_pool(np.array([[[similarity(a, b) for b in v] for a in u]]), settings["grid"], settings["grid"])
    for block, side in enumerate([settings["middle"], settings["last"]] if paper else []):
        g = grid_pool(np.tanh(wide_grid_conv(weights, f"aggregate.convs.{block}", g)), side, side)
    return mlp(weights, "score", g.ravel())
