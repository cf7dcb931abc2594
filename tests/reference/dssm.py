"""The reference of DSSM."""

import numpy as np

from reference.char_ngrams import ngram_counts
from reference.common import cosine, linear
from reference.registry import reference


@reference("dssm", {"hidden": 6, "code": 4})
def dssm(weights, settings, left, right, ngrams):
    def encode(text):
        x = sum(ngram_counts(weights, "embed.weight", text, ngrams))
        h = np.tanh(weights["embed.weight"].T @ x + weights["bias"])
        g = np.tanh(linear(weights, "layers.1", h))
        return np.tanh(linear(weights, "layers.3", g))

    return cosine(encode(left), encode(right))
