"""Functions for references of models that convolve texts: windows, pooling and dynamic k-max pooling."""

import numpy as np


def ceil_half(n):
    return (n + 1) // 2


def filtered(weights, name, windows):
    """W window + b, or W window without a bias."""
    W, b = weights[f"{name}.weight"], weights.get(f"{name}.bias", 0)
    return [W @ window + b for window in windows]


def fixed_length(vectors, length):
    """The text truncated or filled up with zero vectors, and which positions are words."""
    kept = vectors[:length]
    zeros = [np.zeros(len(vectors[0]))] * (length - len(kept))
    return [*kept, *zeros], [True] * len(kept) + [False] * len(zeros)


def narrow_conv(weights, name, x, mask, width):
    """All windows inside the fixed length; a window counts if it contains a position that counts."""
    starts = range(len(x) - width + 1)
    y = filtered(weights, name, [np.concatenate(x[t : t + width]) for t in starts])
    return y, [any(mask[t : t + width]) for t in starts]


def wide_windows(x, width):
    """All windows that overlap the text."""
    zeros = [np.zeros(len(x[0]))] * (width - 1)
    x = [*zeros, *x, *zeros]
    return [np.concatenate(x[t : t + width]) for t in range(len(x) - width + 1)]


def dynamic_cnn(weights, name, settings, x, least, top):
    n, width, layers = len(x), settings["width"], settings["layers"]
    for layer in range(1, layers + 1):
        y = np.array(filtered(weights, f"{name}.convs.{layer - 1}.filters", wide_windows(x, width)))
        k = top if layer == layers else max(least, int(np.ceil(round((layers - layer) * n / layers, 9))))
        x = list(np.stack([kmax_in_order(np.tanh(y[:, f]), k) for f in range(y.shape[1])], axis=1))
    return np.concatenate([*x, *[np.zeros(len(x[0]))] * (top - len(x))])


def kmax_in_order(values, k):
    """The k largest values in their original order, or all of them."""
    best = sorted(range(len(values)), key=lambda t: -values[t])[:k]
    return np.array([values[t] for t in sorted(best)])


def max_pool_2x2(z):
    half = range(ceil_half(len(z)))
    return np.array([[z[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max((0, 1)) for j in half] for i in half])
