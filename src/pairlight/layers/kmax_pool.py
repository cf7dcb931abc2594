"""A long sequence becomes a short one that keeps what is strongest, in its order."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from pairlight.layers.convolution import of_windows
from pairlight.layers.types import Seq


def kmax(u: Seq, k: Tensor) -> Seq:
    """The k largest values of every feature, in the order they stand in; of equals, the earlier.   Seq, [B] -> Seq

    Each text has a k of its own. A text with fewer values keeps them all, and its mask says how many they are;
    there are always as many places as the largest k asks for.
    """
    K, k = int(k.max()), torch.minimum(k, u.lengths)
    with torch.no_grad():
        x = torch.where(u.mask[..., None], u.x, -torch.inf).cpu().numpy()
        place = torch.from_numpy(_largest(x, k.cpu().numpy(), K)).to(u.x.device)  # [B, K, D]
    kept = torch.arange(K, device=k.device) < k[:, None]  # [B, K]
    return of_windows(F.pad(u.x.gather(1, place), (0, 0, 0, K - place.shape[1])), kept)


def _largest(x: NDArray[np.floating], k: NDArray[np.int64], K: int) -> NDArray[np.int64]:
    """Where the k largest of every column stand, in their order; anywhere behind.   [B, L, D], [B] -> [B, K or L, D]

    NumPy, because it sorts short rows with vector instructions, about eight times as fast as PyTorch.
    """
    x, k, L = np.ascontiguousarray(x.swapaxes(1, 2)), k[:, None, None], x.shape[1]
    least = np.take_along_axis(np.sort(x, -1), np.minimum(L - k, L - 1), -1)
    out = x < least
    more = L - k - out.sum(-1, keepdims=True)
    if more.any():  # of those that equal the least, the last go
        equal = x == least
        out |= equal & (equal.cumsum(-1) > equal.sum(-1, keepdims=True) - more)
    place = np.sort(out * np.int32(L) + np.arange(L, dtype=np.int32), -1)[..., :K]
    return np.minimum(place.swapaxes(1, 2), L - 1, dtype=np.int64)


def dynamic_k(lengths: Tensor, layer: int, layers: int, least: int, top: int) -> Tensor:
    """k = max(least, ⌈(layers - layer) n / layers⌉) after each layer but the last, `top` after that one.   [B] -> [B]

    `lengths` are the n of the texts themselves, whatever layer it is; layers count from 1.
    """
    if layer == layers:
        return torch.full_like(lengths, top)
    return (((layers - layer) * lengths + layers - 1) // layers).clamp(min=least)


def dynamic_kmax(u: Seq, lengths: Tensor, layer: int, layers: int, least: int, top: int) -> Seq:
    """`kmax` with `dynamic_k`: the longer the text, the more is kept; less from layer to layer.   Seq, [B] -> Seq"""
    return kmax(u, dynamic_k(lengths, layer, layers, least, top))
