"""Slow twin of ESIM."""

import numpy as np

from reference import words as w


def esim(weights, settings, left, right, letters):
    u, v = w.words(weights, settings, left, right)
    p, q = w.bilstm(weights, "encode", u), w.bilstm(weights, "encode", v)

    def composed(own, other):
        contrasts = []
        for x in own:
            share = w.softmax(np.array([x @ y for y in other]))
            found = sum(s * y for s, y in zip(share, other, strict=True))
            m = np.concatenate([x, found, x - found, x * found])
            contrasts.append(w.relu(w.linear(weights, "project.0", m)))
        r = np.array(w.bilstm(weights, "compose", contrasts))
        return [r.mean(0), r.max(0)]

    z = np.concatenate([*composed(p, q), *composed(q, p)])
    return float(w.linear(weights, "score.4", np.tanh(w.linear(weights, "score.1", z)))[0])
