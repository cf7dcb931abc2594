"""The reference of PACRR."""

import numpy as np

from reference.common import attention, lstm, relu, softmax
from reference.grids import grid_conv
from reference.registry import DIM, reference
from reference.similarities import word_cosine


@reference(
    "pacrr",
    {"maps": 4, **DIM},
    {"grams": 1, "k": 5, **DIM},
    {"maps": 3, "gate": "both", "rescale": True, **DIM},
)
def pacrr(weights, settings, left, right, ngrams):
    a, b = attention(weights, settings, "left", left), attention(weights, settings, "right", right)
    s = np.array(word_cosine(weights, left, right)) * np.outer(a, b)
    convolved = [relu(grid_conv(weights, f"convs.{n}", s[None])).max(0) for n in range(settings["grams"] - 1)]
    idf = weights["idf_softmax.idf"]
    g = softmax(np.array([idf[min(word, len(idf) - 1)] for word in left]))
    p = []
    for i in range(len(left)):
        features = [g[i]]
        for grid in [s, *convolved]:
            best = sorted(grid[i], reverse=True)[: settings["k"]]
            features += best + [0.0] * (settings["k"] - len(best))
        p.append(np.array(features))
    return float(lstm(weights, "score", p)[-1][0])
