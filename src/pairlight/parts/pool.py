"""A long sequence becomes a short one that keeps what is strongest, in its order."""

import torch
from torch import Tensor
from torch.nn import functional as F

from pairlight.parts import Seq
from pairlight.parts.convolve import of_windows


def kmax(u: Seq, k: Tensor) -> Seq:
    """The k largest values of every feature, in the order they stand in; of equals, the earlier.   Seq, [B] -> Seq

    Each text has a k of its own. A text with fewer values keeps them all, and its mask says how many they are;
    there are always as many places as the largest k asks for.
    """
    K, L = int(k.max()), u.x.shape[1]
    # Stable, because of equal values the earlier must stay: which one does changes the order of the rest.
    best = u.x.masked_fill(~u.mask[..., None], -torch.inf).sort(dim=1, descending=True, stable=True).indices[:, :K]
    kept = torch.arange(K, device=k.device) < torch.minimum(k, u.lengths)[:, None]  # [B, K]
    place = best.masked_fill(~kept[:, :L, None], L - 1).sort(dim=1).values
    return of_windows(F.pad(u.x.gather(1, place), (0, 0, 0, K - place.shape[1])), kept)


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
