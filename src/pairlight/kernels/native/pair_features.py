"""How well two texts match: nine features and the largest cosines of two words, from a table, on NumPy arrays."""

import ctypes
from typing import Any, NamedTuple

import numpy as np

from pairlight.core.errors import InputError
from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import Array, address, contiguous, numbers, pointers
from pairlight.kernels.native.library import UNKNOWN_WORD, Native

K1, B = 1.2, 0.75  # of BM25
NUMBERS = 9  # features before the largest cosines
EPSILON = 1e-8  # the least length of a vector that has a direction
PADDING = 0  # its weight is that of words without one


class WordTable(NamedTuple):
    """The vectors of words and how much each word counts, as NumPy arrays or PyTorch tensors."""

    units: Any  # [V,D] of length 1; zero for a word without a vector
    norms: Any  # [V] the lengths of the vectors before that
    weights: Any  # [W] with W <= V; the words after these have the weight of word 0


class TextPairs(NamedTuple):
    """Texts as ids, all contiguous int64 arrays. Right text r is paired with left text r mod B."""

    left_ids: Any  # [B,L]
    right_ids: Any  # [n·B,R]
    left: Any  # [B] lengths
    right: Any  # [n·B]


class _Call(ctypes.Structure):
    """The same fields in the same order as `PairFeatures` in csrc/pair_features.hpp."""

    _fields_ = (
        *pointers(*WordTable._fields, *TextPairs._fields),
        *numbers("vocabulary", "weighted", "dim", "lefts", "pairs", "left_words", "right_words", "k", "threads"),
        ("fixed", ctypes.c_double),
        ("by_word", ctypes.c_double),
        *pointers("features"),
    )


def pair_features(
    words: WordTable,
    left_ids: Array,
    right_ids: Array,
    left_lengths: Array,
    right_lengths: Array,
    average_length: float,
    k: int,
) -> Array:
    """The features of `PairFeatures` in pairlight.layers.evidence, without gradients: [n·B, 9 + k].

    A word is a row of the table. Ids in padding may be anything; others must be in the table.
    """
    check_shapes(words, left_ids, right_ids, k)
    check.floating(**words._asdict())
    left_ids, right_ids = check.integers("left_ids", left_ids), check.integers("right_ids", right_ids)
    left = check.lengths("left_lengths", left_lengths, *left_ids.shape)
    right = check.lengths("right_lengths", right_lengths, *right_ids.shape)
    pairs = TextPairs(left_ids, right_ids, left, right)
    native = library.native(np.float32) if words.units.dtype == np.float32 else None
    if native is None:
        return pair_features_reference(words, pairs, average_length, k)
    features = np.empty((len(right_ids), NUMBERS + k), np.float32)
    words = WordTable(*map(contiguous, words))
    pair_features_into(native, words, pairs, average_length, features, threads=library.threads())
    return features


def check_shapes(words: WordTable, left_ids: check.Shaped, right_ids: check.Shaped, k: int) -> None:
    """Check the shapes of the table and the ids, NumPy arrays or PyTorch tensors, and k."""
    check.dimensions("units", words.units, "VD")
    check.dimensions("left_ids", left_ids, "BL")
    check.dimensions("right_ids", right_ids, "BR")
    check.shape("norms", words.norms, words.units.shape[0])
    check.dimensions("weights", words.weights, "V")
    if words.weights.shape[0] == 0:
        raise InputError("weights is empty: pass at least the weight of word 0.")
    if k < 0:
        raise InputError(f"k is {k}: pass 0 or more.")
    check.right_texts(right_ids.shape[0], left_ids.shape[0])


@np.errstate(divide="ignore", invalid="ignore")
def pair_features_reference(words: WordTable, pairs: TextPairs, average_length: float, k: int) -> Array:
    """The reference implementation: computes the whole grid of one pair at a time."""
    features = np.zeros((len(pairs.right_ids), NUMBERS + k), words.units.dtype)
    for pair, right_ids in enumerate(pairs.right_ids):
        at = pair % len(pairs.left_ids)
        ids = pairs.left_ids[at, : pairs.left[at]], right_ids[: pairs.right[pair]]
        for each in ids:
            if each.size and not 0 <= each.min() <= each.max() < len(words.units):
                raise InputError(UNKNOWN_WORD)
        (x, y), (left, right) = (words.units[each] for each in ids), (words.norms[each] for each in ids)
        r, q = (words.weights[np.where(each < len(words.weights), each, PADDING)] for each in ids)
        s, same = x @ y.T, ids[0][:, None] == ids[1]
        tf, m, n = same.sum(1), len(x), len(y)
        saturation = K1 * (1 - B + B * n / average_length)
        features[pair, :NUMBERS] = [
            _cosine(left @ x, right @ y),
            _cosine((r * left) @ x, (q * right) @ y),
            (r * (s.max(1) if n else 0)).sum() / r.sum(),
            (q * (s.max(0) if m else 0)).sum() / q.sum(),
            (r * (tf > 0)).sum() / r.sum(),
            (q * same.any(0)).sum() / q.sum(),
            (r * tf / (tf + saturation)).sum() / r.sum(),
            np.log1p(m),
            np.log1p(n),
        ]
        largest = -np.sort(-s, axis=None)[:k]
        features[pair, NUMBERS : NUMBERS + len(largest)] = largest
    return features


def _cosine(a: Array, b: Array) -> Any:
    return a @ b / (max(np.sqrt(a @ a), EPSILON) * max(np.sqrt(b @ b), EPSILON))


def pair_features_into(
    native: Native, words: WordTable, pairs: TextPairs, average_length: float, features: Array, *, threads: int
) -> None:
    """Write the features to features[n·B, 9 + k]. All arrays are contiguous, and those of numbers float32."""
    lefts, left_words = pairs.left_ids.shape
    rights, right_words = pairs.right_ids.shape
    vocabulary, dim = words.units.shape
    call = _Call(
        *(address(each) for each in (*words, *pairs)),
        vocabulary=vocabulary,
        weighted=len(words.weights),
        dim=dim,
        lefts=lefts,
        pairs=rights,
        left_words=left_words,
        right_words=right_words,
        k=features.shape[1] - NUMBERS,
        threads=threads,
        fixed=K1 * (1 - B),
        by_word=K1 * B / average_length,
        features=address(features),
    )
    native.run("pair_features", features.dtype, call)
