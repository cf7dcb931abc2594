"""The reference of Conv-KNRM."""

import numpy as np

from reference.common import attention, cosine, embed, linear, relu
from reference.registry import DIM, reference
from reference.similarities import kernel_pooling


@reference(
    "conv-knrm",
    {"filters": 5, **DIM},
    {"filters": 5, "grams": 2, "kernels": 4, "gate": "both", "rescale": True, **DIM},
)
def conv_knrm(weights, settings, left, right, ngrams):
    def word_ngrams(text, n):
        x = embed(weights, text)
        x = [*x, *[np.zeros(len(x[0]))] * (n - 1)]
        name = f"encode.convs.{n - 1}.filters"
        return [relu(linear(weights, name, np.concatenate(x[t : t + n]))) for t in range(len(text))]

    a, b = attention(weights, settings, "left", left), attention(weights, settings, "right", right)
    phi = []
    for p in range(1, settings["grams"] + 1):
        for q in range(1, settings["grams"] + 1):
            grid = [[cosine(g, h) for h in word_ngrams(right, q)] for g in word_ngrams(left, p)]
            phi += kernel_pooling(grid, a, b, settings["kernels"])
    return float(np.tanh(linear(weights, "score.0", np.array(phi)))[0])
