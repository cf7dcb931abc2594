"""The reference of CDSSM."""

import numpy as np

from reference.char_ngrams import ngram_counts, window_sum
from reference.common import cosine
from reference.registry import reference


@reference("cdssm", {"hidden": 6, "code": 4})
def cdssm(weights, settings, left, right, ngrams):
    def encode(text):
        table = weights["embed.weight"]
        zero = np.zeros(len(table))
        f = [zero, *ngram_counts(weights, "embed.weight", text, ngrams), zero]
        h = [np.tanh(window_sum(table, f, t)) for t in range(len(text))]
        return np.tanh(weights["out.weight"] @ np.max(h, axis=0))

    return cosine(encode(left), encode(right))
