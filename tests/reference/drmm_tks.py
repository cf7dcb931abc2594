"""The reference of DRMM-TKS."""

import numpy as np

from reference.common import attention, linear
from reference.registry import DIM, reference
from reference.similarities import word_cosine


@reference(
    "drmm-tks",
    {"k": 4, "hidden": 3, **DIM},
    {"k": 2, "gate": "both", "rescale": True, **DIM},
    {"k": 12, "gate": "none", **DIM},
)
def drmm_tks(weights, settings, left, right, ngrams):
    s = word_cosine(weights, left, right)
    a, b = attention(weights, settings, "left", left), attention(weights, settings, "right", right)
    total = 0.0
    for i in range(len(left)):
        largest = sorted((s[i][j] * b[j] for j in range(len(right))), reverse=True)[: settings["k"]]
        t = np.array(largest + [0.0] * (settings["k"] - len(largest)))
        total += a[i] * np.tanh(linear(weights, "feed_forward.2", np.tanh(linear(weights, "feed_forward.0", t))))[0]
    return total
