"""How well two texts match: nine features and the largest cosines of two words, from a table, in PyTorch.

It has no gradients: to train, use the layers whose features these are.
"""

import torch
from torch import Tensor

from pairlight.core.errors import InputError
from pairlight.kernels.autograd import check
from pairlight.kernels.autograd.arrays import array, native_for
from pairlight.kernels.autograd.product_max import product_max_reference
from pairlight.kernels.autograd.token_matches import token_matches_reference
from pairlight.kernels.native.pair_features import (
    EPSILON,
    K1,
    NUMBERS,
    PADDING,
    B,
    TextPairs,
    WordTable,
    check_shapes,
    pair_features_into,
)

__all__ = ["WordTable", "pair_features", "pair_features_reference"]


@torch.no_grad()
def pair_features(
    words: WordTable,
    left_ids: Tensor,
    right_ids: Tensor,
    left_lengths: Tensor,
    right_lengths: Tensor,
    average_length: float,
    k: int,
) -> Tensor:
    """The features of `PairFeatures` in pairlight.layers.evidence, without gradients: [n·B, 9 + k].

    A word is a row of the table. Ids in padding may be anything; others must be in the table.
    """
    check_shapes(words, left_ids, right_ids, k)
    check.floating(**words._asdict())
    device = words.units.device
    left_ids = check.integers("left_ids", left_ids, device)
    right_ids = check.integers("right_ids", right_ids, device)
    left = check.lengths("left_lengths", left_lengths, left_ids.shape[0], left_ids.shape[1], device)
    right = check.lengths("right_lengths", right_lengths, right_ids.shape[0], right_ids.shape[1], device)
    pairs = TextPairs(left_ids, right_ids, left, right)
    native = native_for(words.units) if words.units.dtype == torch.float32 else None
    if native is None:
        return pair_features_reference(words, pairs, average_length, k)
    features = words.units.new_empty(len(right_ids), NUMBERS + k)
    words = WordTable(*(array(each.contiguous()) for each in words))
    pairs = TextPairs(*map(array, pairs))
    pair_features_into(native, words, pairs, average_length, array(features), threads=torch.get_num_threads())
    return features


def pair_features_reference(words: WordTable, pairs: TextPairs, average_length: float, k: int) -> Tensor:
    """The reference implementation: looks up the vectors of all texts, then computes the grids of all pairs."""
    left_ids, right_ids, left, right = pairs
    times = len(right_ids) // len(left_ids) if len(left_ids) else 1
    x, a, r, u = _text(words, left_ids, left)
    y, b, q, v = _text(words, right_ids, right)
    found = product_max_reference(x, y, left, right, k)
    in_right, in_left = (each.to(x.dtype) for each in token_matches_reference(left_ids, right_ids, left, right))
    r, a, u, left = (each.repeat(times, *[1] * (each.dim() - 1)) for each in (r, a, u, left))
    saturation = K1 * (1 - B + B * right.to(x.dtype) / average_length)[:, None]
    features = [
        (a * b).sum(1),
        (u * v).sum(1),
        (r * found.rows).sum(1) / r.sum(1),
        (q * found.columns).sum(1) / q.sum(1),
        (r * in_right.clamp(max=1)).sum(1) / r.sum(1),
        (q * in_left.clamp(max=1)).sum(1) / q.sum(1),
        (r * in_right / (in_right + saturation)).sum(1) / r.sum(1),
        left.to(x.dtype).log1p(),
        right.to(x.dtype).log1p(),
    ]
    return torch.cat([torch.stack(features, 1), found.values], 1)


def _text(words: WordTable, ids: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
    """Unit vectors of words, the direction of their sum, the weights of words and the direction of the weighted sum."""
    mask = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
    if bool((mask & ((ids < 0) | (ids >= len(words.units)))).any()):
        raise InputError("A word has an id that is not in the table of vectors.")
    ids = torch.where(mask, ids, PADDING)
    units = torch.where(mask[..., None], words.units[ids], 0)
    weights = torch.where(mask, words.weights[torch.where(ids < len(words.weights), ids, PADDING)], 0)
    vectors = units * words.norms[ids][..., None]
    plain, weighted = vectors.sum(1), (vectors * weights[..., None]).sum(1)
    directions = (torch.nn.functional.normalize(each, dim=1, eps=EPSILON) for each in (plain, weighted))
    return units, next(directions), weights, next(directions)
