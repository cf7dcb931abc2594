"""The reference of DRMM."""

import numpy as np

from reference.common import attention, linear, softmax
from reference.registry import DIM, reference
from reference.similarities import bin_index, word_cosine


@reference(
    "drmm",
    {"bins": 12, "gate": "left", **DIM},
    *(
        {"counts": counts, "hidden": 3, "idf": False, "gate": "both", "rescale": True, **DIM}
        for counts in ("count", "share", "log")
    ),
)
def drmm(weights, settings, left, right, ngrams):
    s = word_cosine(weights, left, right)
    a, b = attention(weights, settings, "left", left), attention(weights, settings, "right", right)
    g = np.ones(len(left))
    if settings["idf"]:
        idf, weight = weights["idf_gate.idf"], weights["idf_gate.weight"][0]
        g = softmax(np.array([weight * idf[min(word, len(idf) - 1)] for word in left]))
    total = 0.0
    for i in range(len(left)):
        h = np.zeros(settings["bins"])
        for j in range(len(right)):
            h[bin_index(s[i][j], settings["bins"])] += b[j]
        if settings["counts"] == "share":
            h = h / h.sum()
        if settings["counts"] == "log":
            h = np.log10(h + 1)
        z = np.tanh(linear(weights, "feed_forward.2", np.tanh(linear(weights, "feed_forward.0", h))))[0]
        total += a[i] * g[i] * z
    return total
