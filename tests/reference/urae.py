"""The reference of uRAE."""

from itertools import pairwise

import numpy as np

from reference.common import embed_gated, linear
from reference.registry import DIM, reference


def encode(weights, a, b):
    return np.tanh(weights["encode.encoder_weight"] @ np.concatenate([a, b]) + weights["encode.encoder_bias"])


def reconstruction_error(weights, a, b):
    decoded = np.tanh(weights["encode.decoder_weight"] @ encode(weights, a, b) + weights["encode.decoder_bias"])
    return np.sum((np.concatenate([a, b]) - decoded) ** 2)


def greedy_tree(weights, vectors):
    """The root of a tree; a node is (vector, first child, second child), a word (vector, None, None)."""
    nodes = [(x, None, None) for x in vectors]
    while len(nodes) > 1:
        errors = [reconstruction_error(weights, a[0], b[0]) for a, b in pairwise(nodes)]
        at = next(i for i, error in enumerate(errors) if error <= min(errors) + 1e-5)
        a, b = nodes[at], nodes[at + 1]
        nodes[at : at + 2] = [(encode(weights, a[0], b[0]), a, b)]
    return nodes[0]


def in_order(root, n):
    """Node vectors: words in order, then inner nodes, numbered downwards on a walk from the root, first child first."""
    found, number, word = [None] * (2 * n - 1), 2 * n - 2, 0

    def walk(node):
        nonlocal number, word
        vector, first, second = node
        if first is None:
            found[word] = vector
            word += 1
            return
        found[number] = vector
        number -= 1
        walk(first)
        walk(second)

    walk(root)
    return found


def doubled_segments(size, count):
    """The rows of each segment: rows are doubled in place until there are enough, and longer segments come last."""
    rows = list(range(size))
    while len(rows) < count:
        rows = [row for row in rows for _ in range(2)]
    q, r = divmod(len(rows), count)
    found, at = [], 0
    for segment in range(count):
        width = q + (segment >= count - r)
        found.append(rows[at : at + width])
        at += width
    return found


@reference("urae", {"grid": 4, "steps": 3, **DIM}, {"gate": "right", "grid": 7, "steps": 1, **DIM})
def urae(weights, settings, left, right, ngrams):
    u, v = embed_gated(weights, settings, left, right)
    u, v = (in_order(greedy_tree(weights, x), len(x)) for x in (u, v))
    rows, columns = (doubled_segments(len(x), settings["grid"]) for x in (u, v))
    distances = np.array(
        [[min(np.linalg.norm(u[i] - v[j]) for i in row for j in column) for column in columns] for row in rows]
    )
    q = np.clip((-distances - weights["mean"]) / (3 * weights["std"]), -1, 1)
    return float(linear(weights, "score", ((q + 1) * 0.4 + 0.1).ravel())[0])
