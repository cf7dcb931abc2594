"""The reference of DeepMatch."""

import numpy as np

from reference.common import linear, sigmoid
from reference.registry import reference


@reference(
    "deepmatch",
    {"topics": "5,3,2", "patch": 6, "units": 2, "links": 2, "committee": 3},
    {"topics": "4", "patch": 40, "units": 2, "links": 2, "committee": 3},  # patches larger than the vocabulary
)
def deepmatch(weights, settings, left, right, ngrams):
    counts, K, P = [int(n) for n in settings["topics"].split(",")], settings["units"], settings["patch"]

    def patch_words(side, topic):
        """The word ids of a patch, found by searching the index of all words."""
        index = weights[f"patches.{side}_index"][:-1].tolist()
        return [index.index(n) if n else None for n in weights[f"patches.{side}_patches"][topic].tolist()]

    h = {}
    for topic in range(counts[0]):
        for k in range(K):
            total = weights["patches.bias"][topic * K + k]
            for i, a in enumerate(patch_words("left", topic)):
                for j, b in enumerate(patch_words("right", topic)):
                    if a in left and b in right:
                        total += weights["patches.weight"][topic, i, k * P + j]
            h[topic, k] = sigmoid(total)
    for layer, coarse in enumerate(counts[1:]):
        name, fine = f"linked.{layer}", counts[layer]
        above = {}
        for q in range(coarse):
            linked = [p for p in range(fine) if weights[f"{name}.links"][q, p]]
            for k in range(K):
                total = weights[f"{name}.bias"][q * K + k]
                for p in linked:
                    for m in range(K):
                        total += weights[f"{name}.weight"][q * K + k, p * K + m] * h[p, m]
                above[q, k] = sigmoid(total)
        h = above
    coarsest = np.array([h[q, k] for q in range(counts[-1]) for k in range(K)])
    return float(linear(weights, "score", sigmoid(linear(weights, "committee", coarsest)))[0])
