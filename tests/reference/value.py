"""Slow twins of the models that ask for the value of a similarity, not for its place."""

import math

import numpy as np

from reference import words as w


def likeness(weights, left, right):
    """Rows of cosines; 1 for the same word, 0 where one of two is beyond the vocabulary."""
    known = len(weights["embed.embedding.weight"])
    u, v = w.embed(weights, left), w.embed(weights, right)

    def cell(i, j):
        if left[i] == right[j]:
            return 1.0
        if left[i] >= known or right[j] >= known:
            return 0.0
        return min(w.cosine(u[i], v[j]), 1 - 1e-6)

    return [[cell(i, j) for j in range(len(right))] for i in range(len(left))]


def share(weights, settings, side, text):
    """How much each word of a text counts."""
    if settings["gate"] not in (side, "both"):
        return np.ones(len(text))
    a = w.softmax(np.array([weights[f"embed.{side}_gate.w"] @ x for x in w.embed(weights, text)]))
    return a * len(text) if settings["rescale"] else a


def bin_of(s, bins):
    return bins - 1 if s == 1 else math.floor((s + 1) / 2 * (bins - 1))


def anmm(weights, settings, left, right, letters):
    s = likeness(weights, left, right)
    a, b = share(weights, settings, "left", left), share(weights, settings, "right", right)
    total = 0.0
    for i in range(len(left)):
        x = np.zeros(settings["bins"])
        for j in range(len(right)):
            x[bin_of(s[i][j], settings["bins"])] += b[j] * s[i][j]
        total += a[i] * w.sigmoid(weights["aggregate.w"] @ x)
    return total


def drmm(weights, settings, left, right, letters):
    s = likeness(weights, left, right)
    a, b = share(weights, settings, "left", left), share(weights, settings, "right", right)
    idf = weights["idf"]
    g = np.ones(len(left))
    if settings["idf"]:
        g = w.softmax(np.array([weights["rare"][0] * idf[min(word, len(idf) - 1)] for word in left]))
    total = 0.0
    for i in range(len(left)):
        h = np.zeros(settings["bins"])
        for j in range(len(right)):
            h[bin_of(s[i][j], settings["bins"])] += b[j]
        if settings["counts"] == "share":
            h = h / h.sum()
        if settings["counts"] == "log":
            h = np.log10(h + 1)
        z = np.tanh(w.linear(weights, "score.2", np.tanh(w.linear(weights, "score.0", h))))[0]
        total += a[i] * g[i] * z
    return total


def kernel_counts(grid, a, b, kernels):
    """K-NRM's features of one grid."""
    width = 2 / (kernels - 1)
    bells = [(1.0, 1e-3), *((1 - width / 2 - k * width, width / 2) for k in range(kernels - 1))]
    features = []
    for mu, sigma in bells:
        phi = 0.0
        for i, row in enumerate(grid):
            near = sum(b[j] * math.exp(-((s - mu) ** 2) / (2 * sigma**2)) for j, s in enumerate(row))
            phi += a[i] * 0.01 * math.log(max(near, 1e-10))
        features.append(phi)
    return features


def knrm(weights, settings, left, right, letters):
    a, b = share(weights, settings, "left", left), share(weights, settings, "right", right)
    phi = kernel_counts(likeness(weights, left, right), a, b, settings["kernels"])
    return float(np.tanh(w.linear(weights, "score.0", np.array(phi)))[0])


def conv_knrm(weights, settings, left, right, letters):
    def phrases(text, h):
        x = w.embed(weights, text)
        x = [*x, *[np.zeros(len(x[0]))] * (h - 1)]
        name = f"encode.lengths.{h - 1}.filters"
        return [w.relu(w.linear(weights, name, np.concatenate(x[t : t + h]))) for t in range(len(text))]

    a, b = share(weights, settings, "left", left), share(weights, settings, "right", right)
    phi = []
    for p in range(1, settings["grams"] + 1):
        for q in range(1, settings["grams"] + 1):
            grid = [[w.cosine(g, k) for k in phrases(right, q)] for g in phrases(left, p)]
            phi += kernel_counts(grid, a, b, settings["kernels"])
    return float(np.tanh(w.linear(weights, "score.0", np.array(phi)))[0])
