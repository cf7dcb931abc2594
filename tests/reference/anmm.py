"""The reference of aNMM."""

import numpy as np

from reference.common import attention, sigmoid
from reference.registry import DIM, reference
from reference.similarities import bin_index, word_cosine


@reference(
    "anmm",
    *({"bins": 21, "gate": gate, **DIM} for gate in ("none", "left", "right", "both")),
    {"bins": 8, "gate": "both", "rescale": True, **DIM},
)
def anmm(weights, settings, left, right, ngrams):
    s = word_cosine(weights, left, right)
    a, b = attention(weights, settings, "left", left), attention(weights, settings, "right", right)
    total = 0.0
    for i in range(len(left)):
        x = np.zeros(settings["bins"])
        for j in range(len(right)):
            x[bin_index(s[i][j], settings["bins"])] += b[j] * s[i][j]
        total += a[i] * sigmoid(weights["aggregate.w"] @ x)
    return total
