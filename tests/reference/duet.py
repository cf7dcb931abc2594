"""The reference of DUET."""

import numpy as np

from reference.char_ngrams import ngram_counts, window_sum
from reference.common import linear
from reference.registry import reference


@reference(
    "duet",
    {"left_length": 6, "right_length": 8, "hidden": 5, "pool": 3},
    {"left_length": 12, "right_length": 14, "hidden": 5, "pool": 12},
)
def duet(weights, settings, left, right, ngrams):
    n, m, pool = settings["left_length"], settings["right_length"], settings["pool"]
    left, right = left[:n], right[:m]

    def head(name, z):
        for layer in (0, 2, 5):
            z = np.tanh(linear(weights, f"{name}.{layer}", z))
        return float(z[0])

    def windows(side, text, length):
        table = weights[f"embed_{side}.weight"]
        f = ngram_counts(weights, f"embed_{side}.weight", text, ngrams)
        f += [np.zeros(len(table))] * (length - len(text))
        return [np.tanh(window_sum(table, f, t) + weights[f"{side}_bias"]) for t in range(length - 2)]

    X = np.zeros((n, m))
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            X[i, j] = a == b
    local = head("local_head", np.concatenate([np.tanh(linear(weights, "rows", row)) for row in X]))

    q = np.tanh(linear(weights, "left_out", np.max(windows("left", left, n), axis=0)))
    h = windows("right", right, m)
    d = [np.tanh(linear(weights, "right_out", np.max(h[t : t + pool], axis=0))) for t in range(m - 2 - pool + 1)]
    return local + head("distributed_head", np.concatenate([q * each for each in d]))
