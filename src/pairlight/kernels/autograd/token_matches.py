"""How often each token of a text occurs in the other text of its pair, in PyTorch; token ids have no gradients."""

import torch
from torch import Tensor

from pairlight.kernels.autograd import check
from pairlight.kernels.autograd.arrays import array
from pairlight.kernels.native import library
from pairlight.kernels.native.library import Native
from pairlight.kernels.native.token_matches import check_shapes, token_matches_into


def token_matches(
    left_ids: Tensor, right_ids: Tensor, left_lengths: Tensor, right_lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """left_ids[B,L], right_ids[n·B,R] -> left_counts[n·B,L], right_counts[n·B,R], 0 for padding.

    Right text r is paired with left text r mod B. The counts are float32, because they become features.
    """
    check_shapes(left_ids, right_ids)
    device = left_ids.device
    left_ids, right_ids = (
        check.integers("left_ids", left_ids, device),
        check.integers("right_ids", right_ids, device),
    )
    left = check.lengths("left_lengths", left_lengths, left_ids.shape[0], left_ids.shape[1], device)
    right = check.lengths("right_lengths", right_lengths, right_ids.shape[0], right_ids.shape[1], device)
    native = library.native("float32") if device.type == "cpu" else None
    if native is None:
        return token_matches_reference(left_ids, right_ids, left, right)
    return _token_matches_native(native, left_ids, right_ids, left, right)


def token_matches_reference(left_ids: Tensor, right_ids: Tensor, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """The reference implementation: compares all tokens of all pairs."""
    times = len(right_ids) // len(left_ids) if len(left_ids) else 1
    in_row = torch.arange(left_ids.shape[1], device=left.device) < left.repeat(times)[:, None]
    in_column = torch.arange(right_ids.shape[1], device=left.device) < right[:, None]
    same = left_ids.repeat(times, 1)[:, :, None] == right_ids[:, None]
    same &= in_row[:, :, None] & in_column[:, None]
    return same.sum(2, dtype=torch.float32), same.sum(1, dtype=torch.float32)


def _token_matches_native(
    native: Native, left_ids: Tensor, right_ids: Tensor, left: Tensor, right: Tensor
) -> tuple[Tensor, Tensor]:
    pairs, R = right_ids.shape
    counts = torch.empty(pairs, left_ids.shape[1]), torch.empty(pairs, R)
    arrays = map(array, (left_ids, right_ids, left, right, *counts))
    token_matches_into(native, *arrays, threads=torch.get_num_threads())
    return counts
