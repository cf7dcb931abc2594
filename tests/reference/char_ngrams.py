"""Functions for references of models that read character n-grams."""

import numpy as np


def ngram_counts(weights, name, text, ngrams):
    """How often each n-gram occurs in each word of a text."""
    vocab = len(weights[name])
    return [np.bincount([ngram for ngram in ngrams[word] if ngram], minlength=vocab) for word in text]


def window_sum(table, f, t):
    """The convolution over words t, t+1, t+2; the columns of the table are its three matrices."""
    hidden = table.shape[1] // 3
    return sum(table[:, i * hidden : (i + 1) * hidden].T @ f[t + i] for i in range(3))
