"""Functions for references of models that count similarities by value: cosine of words, bins and kernels."""

import math

from reference.common import cosine, embed


def word_cosine(weights, left, right):
    """Rows of cosines; 1 for identical words, 0 if either word is out of vocabulary."""
    vocab = len(weights["embed.embedding.weight"])
    u, v = embed(weights, left), embed(weights, right)

    def cell(i, j):
        if left[i] == right[j]:
            return 1.0
        if left[i] >= vocab or right[j] >= vocab:
            return 0.0
        return min(cosine(u[i], v[j]), 1 - 1e-6)

    return [[cell(i, j) for j in range(len(right))] for i in range(len(left))]


def bin_index(s, bins):
    return bins - 1 if s == 1 else math.floor((s + 1) / 2 * (bins - 1))


def kernel_pooling(grid, a, b, kernels):
    """K-NRM's features of one grid, with attention weights a of its rows and b of its columns."""
    width = 2 / (kernels - 1)
    mu_sigma = [(1.0, 1e-3), *((1 - width / 2 - k * width, width / 2) for k in range(kernels - 1))]
    features = []
    for mu, sigma in mu_sigma:
        phi = 0.0
        for i, row in enumerate(grid):
            count = sum(b[j] * math.exp(-((s - mu) ** 2) / (2 * sigma**2)) for j, s in enumerate(row))
            phi += a[i] * 0.01 * math.log(max(count, 1e-10))
        features.append(phi)
    return features
