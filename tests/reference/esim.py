"""The reference of ESIM."""

import numpy as np

from reference.common import bilstm, embed_gated, linear, relu, softmax
from reference.registry import DIM, reference


@reference("esim", {"hidden": 4, **DIM}, {"hidden": 4, "gate": "both", **DIM})
def esim(weights, settings, left, right, ngrams):
    u, v = embed_gated(weights, settings, left, right)
    p, q = bilstm(weights, "encode", u), bilstm(weights, "encode", v)

    def compose(own, other):
        comparisons = []
        for x in own:
            attention = softmax(np.array([x @ y for y in other]))
            aligned = sum(a * y for a, y in zip(attention, other, strict=True))
            m = np.concatenate([x, aligned, x - aligned, x * aligned])
            comparisons.append(relu(linear(weights, "project.0", m)))
        r = np.array(bilstm(weights, "compose", comparisons))
        return [r.mean(0), r.max(0)]

    z = np.concatenate([*compose(p, q), *compose(q, p)])
    return float(linear(weights, "score.4", np.tanh(linear(weights, "score.1", z)))[0])
