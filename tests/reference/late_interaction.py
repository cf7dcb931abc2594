"""The reference of late-interaction."""

import numpy as np

from pairlight.text.subwords import subword_vectors
from reference.common import linear
from reference.registry import reference


def cosine(a, b):
    return a @ b / max(np.linalg.norm(a), 1e-8) / max(np.linalg.norm(b), 1e-8)


@reference("late-interaction", {"k": 4, "hidden": 5}, {"k": 90, "hidden": 3})
def late_interaction(weights, settings, left, right, ngrams):
    table = subword_vectors().astype(np.float32)
    table = (table * np.float32(1 / np.linalg.norm(table, axis=1).mean())).astype(np.float64)
    rho = np.abs(weights["weights.weight"]) + 1e-3
    x = [table[word] @ weights["project"] for word in left]
    y = [table[word] @ weights["project"] for word in right]
    s = np.array([[cosine(a, b) for b in y] for a in x])
    same = np.array([[float(a == b) for b in right] for a in left])
    a, b = (np.array([rho[word if word < len(rho) else 0] for word in text]) for text in (left, right))
    f = [cosine(sum(x), sum(y))]
    for grid in (s, same):
        f += [sum(a * grid.max(1)) / a.sum(), sum(b * grid.max(0)) / b.sum()]
    f += [np.log(1 + len(left)), np.log(1 + len(right))]
    largest = sorted(s.flatten(), reverse=True)[: settings["k"]]
    f = np.array(f + largest + [0.0] * (settings["k"] - len(largest)))
    hidden = np.maximum(linear(weights, "score.hidden", f), 0)
    return float(weights["linear.weight"][0] @ f + linear(weights, "score.out", hidden)[0])
