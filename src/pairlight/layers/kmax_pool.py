"""k-max pooling of a sequence: the largest values of every feature, in their original order."""

import numpy as np
from numpy.typing import NDArray

from pairlight.layers.backends import array_namespace
from pairlight.layers.convolution import masked_seq
from pairlight.layers.types import Array, Seq


def kmax_pool(u: Seq, k: Array) -> Seq:
    """The k largest values of every feature in their original order; of equal values, the earlier.   Seq, [B] -> Seq

    Each text has its own k. A text with fewer values keeps them all. The result has as many positions as the largest k.
    """
    xp = array_namespace(u.x)
    K, k = int(k.max()), xp.minimum(k, u.lengths)
    x = xp.to_numpy(xp.where(u.mask[..., None], xp.detach(u.x), -float("inf")))
    positions = xp.from_numpy(_largest_positions(x, xp.to_numpy(k), K), u.x)  # [B, K, D]
    mask = xp.arange(K, k) < k[:, None]  # [B, K]
    return masked_seq(xp.pad(xp.take_along_axis(u.x, positions, 1), [(0, K - positions.shape[1]), (0, 0)]), mask)


def _largest_positions(x: NDArray[np.floating], k: NDArray[np.int64], K: int) -> NDArray[np.int64]:
    """The positions of the k largest values of each feature, ascending.   [B, L, D], [B] -> [B, min(K, L), D]

    Entries after the first k are arbitrary. In NumPy, which sorts short rows about eight times as fast as PyTorch.
    """
    x, k, L = np.ascontiguousarray(x.swapaxes(1, 2)), k[:, None, None], x.shape[1]
    smallest = np.take_along_axis(np.sort(x, -1), np.minimum(L - k, L - 1), -1)
    dropped = x < smallest
    excess = L - k - dropped.sum(-1, keepdims=True)
    if excess.any():  # several values equal the smallest one kept: the last of them are dropped
        equal = x == smallest
        dropped |= equal & (equal.cumsum(-1) > equal.sum(-1, keepdims=True) - excess)
    positions = np.sort(dropped * np.int32(L) + np.arange(L, dtype=np.int32), -1)[..., :K]
    return np.minimum(positions.swapaxes(1, 2), L - 1, dtype=np.int64)


def dynamic_k(lengths: Array, layer: int, layers: int, least: int, top: int) -> Array:
    """k = max(least, ⌈(layers - layer) n / layers⌉), or `top` after the last layer.   [B] -> [B]

    n is the number of words of a text in all layers; layers count from 1.
    """
    if layer == layers:
        return lengths * 0 + top
    k: Array = array_namespace(lengths).clip(((layers - layer) * lengths + layers - 1) // layers, least)
    return k


def dynamic_kmax_pool(u: Seq, lengths: Array, layer: int, layers: int, least: int, top: int) -> Seq:
    """`kmax_pool` with `dynamic_k`: longer texts keep more, later layers less.   Seq, [B] -> Seq"""
    return kmax_pool(u, dynamic_k(lengths, layer, layers, least, top))
