"""Slow twins of the models that scan a grid cell by cell."""

import numpy as np

from reference import words as w


def scan(weights, name, settings, grid):
    """The state of the last cell: grid is [C, L, R], read from its first cell."""
    D = settings["hidden"]
    _, L, R = grid.shape
    W, b = weights[f"{name}.gates"], weights[f"{name}.gates_bias"]
    if settings["tied_gates"]:
        W, b = np.repeat(W, D, 0), np.repeat(b, D, 0)
    act = {"tanh": np.tanh, "relu": w.relu}[settings["activation"]]
    h = np.zeros((L + 1, R + 1, D))
    for i in range(1, L + 1):
        for j in range(1, R + 1):
            s = grid[:, i - 1, j - 1]
            diagonal, top, left = h[i - 1, j - 1], h[i - 1, j], h[i, j - 1]
            raw = W @ np.concatenate([diagonal, top, left, s]) + b
            r = np.ones(3 * D)
            if settings["reset_gates"]:
                r, raw = w.sigmoid(raw[: 3 * D]), raw[3 * D :]
            around = r * np.concatenate([diagonal, top, left])
            new = act(weights[f"{name}.candidate"] @ np.concatenate([around, s]) + weights[f"{name}.candidate_bias"])
            for k in range(D):
                z = w.softmax(np.array([raw[k], raw[D + k], raw[2 * D + k], raw[3 * D + k]]))
                h[i, j, k] = z[0] * diagonal[k] + z[1] * top[k] + z[2] * left[k] + z[3] * new[k]
    return h[L, R]


def match_srnn(weights, settings, left, right, letters):
    u, v = w.words(weights, settings, left, right)
    grid = w.interact(weights, settings, u, v, left, right)
    return float(w.linear(weights, "score", scan(weights, "aggregate", settings, grid))[0])


def bi_match_srnn(weights, settings, left, right, letters):
    u, v = w.words(weights, settings, left, right)
    grid = w.interact(weights, settings, u, v, left, right)
    forwards = scan(weights, "aggregate.forwards", settings, grid)
    backwards = scan(weights, "aggregate.backwards", settings, grid[:, ::-1, ::-1])
    return float(w.linear(weights, "score", np.concatenate([forwards, backwards]))[0])
