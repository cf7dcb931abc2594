"""Linear layers on prefixes of the same vectors, on NumPy arrays."""

from collections.abc import Sequence

import numpy as np

from pairlight.kernels.native.buffers import Array
from pairlight.kernels.native.matmul import product_into


def prefix_linear_relu(x: Array, mask: Array, weights: Sequence[Array], biases: Sequence[Array]) -> Array:
    """relu(W_n x[..., :size of W_n] + b_n) for n = 1, 2, .., concatenated, and 0 where the mask is false."""
    rows = x.reshape(-1, x.shape[-1])
    y = np.empty((len(rows), sum(map(len, weights))), x.dtype)
    first = 0
    for weight, bias in zip(weights, biases, strict=True):
        product_into(y[:, first : first + len(weight)], rows[:, : weight.shape[1]], weight.T, bias)
        first += len(weight)
    np.maximum(y, 0, out=y)
    if not mask.all():
        y[~mask.reshape(-1)] = 0
    return y.reshape(*x.shape[:-1], -1)
