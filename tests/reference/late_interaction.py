"""The reference of late-interaction, and of the features of pairs that it shares with evidence."""

import numpy as np

from pairlight.text.subwords import subword_vectors
from reference.common import cosine, embed, kmax, linear, mlp
from reference.registry import DIM, reference


def static_vectors(text):
    """The static vectors of a text's subwords, scaled so that the mean length of all of them is 1."""
    table = subword_vectors().astype(np.float32)
    factor = 1 / float(np.linalg.norm(table, axis=1).mean())
    return [(table[word] * np.float32(factor)).astype(np.float64) for word in text]


def pair_features(x, y, r, q, left, right, average_length, k):
    """Nine features of a pair and its k largest cosines, from vectors x, y, weights r, q and ids of both texts."""
    s = np.array([[cosine(a, b) for b in y] for a in x])
    saturation = 1.2 * (1 - 0.75 + 0.75 * len(right) / average_length)
    tf = [right.count(word) for word in left]
    f = [
        cosine(sum(x), sum(y)),
        cosine(sum(a * b for a, b in zip(r, x, strict=True)), sum(a * b for a, b in zip(q, y, strict=True))),
        sum(r[i] * max(s[i]) for i in range(len(x))) / sum(r),
        sum(q[j] * max(s[:, j]) for j in range(len(y))) / sum(q),
        sum(r[i] for i in range(len(x)) if left[i] in right) / sum(r),
        sum(q[j] for j in range(len(y)) if right[j] in left) / sum(q),
        sum(r[i] * tf[i] / (tf[i] + saturation) for i in range(len(x))) / sum(r),
        np.log(1 + len(left)),
        np.log(1 + len(right)),
    ]
    return np.concatenate([f, kmax(s[None], k)])


@reference(
    "late-interaction", {"k": 4, "hidden": 5}, {"k": 90, "hidden": 3}, {"units": "words", "k": 4, "hidden": 5, **DIM}
)
def late_interaction(weights, settings, left, right, ngrams):
    in_words = settings["units"] == "words"
    x, y = (
        [a @ weights["embed.project"] for a in (embed(weights, text) if in_words else static_vectors(text))]
        for text in (left, right)
    )
    rho = np.abs(weights["weights.weight"]) + 1e-3
    r, q = ([rho[word if word < len(rho) else 0] for word in text] for text in (left, right))
    f = pair_features(x, y, r, q, left, right, float(weights["features.average_length"]), settings["k"])
    return float(linear(weights, "linear", f)[0]) + mlp(weights, "score", f)
