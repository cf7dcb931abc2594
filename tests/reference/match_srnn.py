"""The reference of Match-SRNN."""

import numpy as np

from reference.common import embed_gated, interact, linear, relu, sigmoid, softmax
from reference.registry import DIM, reference

SETTINGS = [
    {"hidden": 3, "channels": 2, **settings, **DIM}
    for settings in (
        {},
        {"interaction": "cosine"},
        {"reset_gates": False, "activation": "relu"},
        {"tied_gates": True},
    )
]


def scan(weights, name, settings, grid):
    """The state of the last cell of grid [C, L, R], scanned from the first."""
    D = settings["hidden"]
    _, L, R = grid.shape
    W, b = weights[f"{name}.gates"], weights[f"{name}.gates_bias"]
    if settings["tied_gates"]:
        W, b = np.repeat(W, D, 0), np.repeat(b, D, 0)
    activation = {"tanh": np.tanh, "relu": relu}[settings["activation"]]
    h = np.zeros((L + 1, R + 1, D))
    for i in range(1, L + 1):
        for j in range(1, R + 1):
            s = grid[:, i - 1, j - 1]
            diagonal, above, before = h[i - 1, j - 1], h[i - 1, j], h[i, j - 1]
            raw = W @ np.concatenate([diagonal, above, before, s]) + b
            r = np.ones(3 * D)
            if settings["reset_gates"]:
                r, raw = sigmoid(raw[: 3 * D]), raw[3 * D :]
            neighbors = r * np.concatenate([diagonal, above, before])
            candidate = weights[f"{name}.candidate"] @ np.concatenate([neighbors, s])
            new = activation(candidate + weights[f"{name}.candidate_bias"])
            for k in range(D):
                z = softmax(np.array([raw[k], raw[D + k], raw[2 * D + k], raw[3 * D + k]]))
                h[i, j, k] = z[0] * diagonal[k] + z[1] * above[k] + z[2] * before[k] + z[3] * new[k]
    return h[L, R]


@reference("match-srnn", *SETTINGS)
def match_srnn(weights, settings, left, right, ngrams):
    u, v = embed_gated(weights, settings, left, right)
    grid = interact(weights, settings, u, v, left, right)
    return float(linear(weights, "score", scan(weights, "aggregate", settings, grid))[0])
