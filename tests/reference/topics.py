"""Slow twin of the model that matches words topic by topic."""

import numpy as np

from reference import words as w


def deepmatch(weights, settings, left, right, letters):
    counts, K, P = [int(n) for n in settings["topics"].split(",")], settings["units"], settings["patch"]

    def patch_words(side, topic):
        """The word ids of a patch, by asking every word of the vocabulary for its number."""
        numbers = weights[f"{side}_number"][:-1].tolist()
        return [numbers.index(n) if n else None for n in weights[f"{side}_patch"][topic].tolist()]

    h = {}
    for topic in range(counts[0]):
        for k in range(K):
            total = weights["bias"][topic * K + k]
            for i, a in enumerate(patch_words("left", topic)):
                for j, b in enumerate(patch_words("right", topic)):
                    if a in left and b in right:
                        total += weights["weight"][topic, i, k * P + j]
            h[topic, k] = w.sigmoid(total)
    for layer, coarse in enumerate(counts[1:]):
        name, below = f"layers.{layer}", counts[layer]
        above = {}
        for q in range(coarse):
            children = [p for p in range(below) if weights[f"{name}.links"][q, p]]
            for k in range(K):
                total = weights[f"{name}.bias"][q * K + k]
                for p in children:
                    for m in range(K):
                        total += weights[f"{name}.weight"][q * K + k, p * K + m] * h[p, m]
                above[q, k] = w.sigmoid(total)
        h = above
    top = np.array([h[q, k] for q in range(counts[-1]) for k in range(K)])
    return float(w.linear(weights, "score", w.sigmoid(w.linear(weights, "committee", top)))[0])
