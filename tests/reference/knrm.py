"""The reference of K-NRM."""

import numpy as np

from reference.common import attention, linear
from reference.registry import DIM, reference
from reference.similarities import kernel_pooling, word_cosine


@reference(
    "knrm",
    DIM,
    {"kernels": 6, "gate": "both", **DIM},
    {"gate": "left", "rescale": True, **DIM},
)
def knrm(weights, settings, left, right, ngrams):
    a, b = attention(weights, settings, "left", left), attention(weights, settings, "right", right)
    phi = kernel_pooling(word_cosine(weights, left, right), a, b, settings["kernels"])
    return float(np.tanh(linear(weights, "score.0", np.array(phi)))[0])
