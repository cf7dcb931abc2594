"""Slow twin of the model that compares the nodes of two trees."""

from itertools import pairwise

import numpy as np

from reference import words as w


def join(weights, a, b):
    return np.tanh(weights["encode.weight"] @ np.concatenate([a, b]) + weights["encode.bias"])


def loss(weights, a, b):
    back = np.tanh(weights["encode.back_weight"] @ join(weights, a, b) + weights["encode.back_bias"])
    return np.sum((np.concatenate([a, b]) - back) ** 2)


def greedy(weights, vectors):
    """The root of a tree; a node is (vector, left, right), a word (vector, None, None)."""
    nodes = [(x, None, None) for x in vectors]
    while len(nodes) > 1:
        errors = [loss(weights, a[0], b[0]) for a, b in pairwise(nodes)]
        at = next(i for i, error in enumerate(errors) if error <= min(errors) + 1e-5)
        a, b = nodes[at], nodes[at + 1]
        nodes[at : at + 2] = [(join(weights, a[0], b[0]), a, b)]
    return nodes[0]


def in_order(root, n):
    """Node vectors: words in their order, inner nodes numbered downwards on a walk from the root, left first."""
    found, number, word = [None] * (2 * n - 1), 2 * n - 2, 0

    def walk(node):
        nonlocal number, word
        vector, left, right = node
        if left is None:
            found[word] = vector
            word += 1
            return
        found[number] = vector
        number -= 1
        walk(left)
        walk(right)

    walk(root)
    return found


def windows(size, count):
    """Which rows each piece covers: rows doubled in place till there are enough, the longer pieces last."""
    rows = list(range(size))
    while len(rows) < count:
        rows = [row for row in rows for _ in range(2)]
    q, r = divmod(len(rows), count)
    found, at = [], 0
    for piece in range(count):
        width = q + (piece >= count - r)
        found.append(rows[at : at + width])
        at += width
    return found


def urae(weights, settings, left, right, letters):
    u, v = w.words(weights, settings, left, right)
    u, v = (in_order(greedy(weights, x), len(x)) for x in (u, v))
    grid = settings["grid"]
    pooled = np.array(
        [
            [min(np.linalg.norm(u[i] - v[j]) for i in rows for j in columns) for columns in windows(len(v), grid)]
            for rows in windows(len(u), grid)
        ]
    )
    q = np.clip((-pooled - weights["mean"]) / (3 * weights["spread"]), -1, 1)
    return float(w.linear(weights, "score", ((q + 1) * 0.4 + 0.1).ravel())[0])
