"""How often each token of a text occurs in the other text of its pair, on NumPy arrays."""

import ctypes

import numpy as np

from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import Array, address, numbers, pointers
from pairlight.kernels.native.library import Native


class _Call(ctypes.Structure):
    """The same fields in the same order as `TokenMatches` in csrc/token_matches.hpp."""

    _fields_ = (
        *pointers("left_ids", "right_ids", "left", "right"),
        *numbers("lefts", "pairs", "left_words", "right_words", "threads"),
        *pointers("left_counts", "right_counts"),
    )


def token_matches(left_ids: Array, right_ids: Array, left_lengths: Array, right_lengths: Array) -> tuple[Array, Array]:
    """left_ids[B,L], right_ids[n·B,R] -> left_counts[n·B,L], right_counts[n·B,R], 0 for padding.

    Right text r is paired with left text r mod B. The counts are float32, because they become features.
    """
    check_shapes(left_ids, right_ids)
    left_ids, right_ids = check.integers("left_ids", left_ids), check.integers("right_ids", right_ids)
    left = check.lengths("left_lengths", left_lengths, *left_ids.shape)
    right = check.lengths("right_lengths", right_lengths, *right_ids.shape)
    native = library.native(np.float32)
    if native is None:
        return token_matches_reference(left_ids, right_ids, left, right)
    pairs = len(right_ids)
    counts = np.empty((pairs, left_ids.shape[1]), np.float32), np.empty((pairs, right_ids.shape[1]), np.float32)
    token_matches_into(native, left_ids, right_ids, left, right, *counts, threads=library.threads())
    return counts


def check_shapes(left_ids: check.Shaped, right_ids: check.Shaped) -> None:
    """Check the shapes of the ids, NumPy arrays or PyTorch tensors."""
    check.dimensions("left_ids", left_ids, "BL")
    check.dimensions("right_ids", right_ids, "BR")
    check.right_texts(right_ids.shape[0], left_ids.shape[0])


def token_matches_reference(left_ids: Array, right_ids: Array, left: Array, right: Array) -> tuple[Array, Array]:
    """The reference implementation: compares all tokens of each pair."""
    pairs, R = right_ids.shape
    left_counts = np.zeros((pairs, left_ids.shape[1]), np.float32)
    right_counts = np.zeros((pairs, R), np.float32)
    for pair, ids in enumerate(right_ids):
        at = pair % len(left_ids)
        m, n = left[at], right[pair]
        same = left_ids[at, :m, None] == ids[:n]
        left_counts[pair, :m], right_counts[pair, :n] = same.sum(1), same.sum(0)
    return left_counts, right_counts


def token_matches_into(
    native: Native,
    left_ids: Array,
    right_ids: Array,
    left: Array,
    right: Array,
    left_counts: Array,
    right_counts: Array,
    *,
    threads: int,
) -> None:
    """Write the counts to left_counts[n·B,L] and right_counts[n·B,R]. All arrays are contiguous."""
    lefts, left_words = left_ids.shape
    pairs, right_words = right_ids.shape
    call = _Call(
        left_ids=address(left_ids),
        right_ids=address(right_ids),
        left=address(left),
        right=address(right),
        lefts=lefts,
        pairs=pairs,
        left_words=left_words,
        right_words=right_words,
        threads=threads,
        left_counts=address(left_counts),
        right_counts=address(right_counts),
    )
    native.run("token_matches", left_counts.dtype, call)
