"""The array functions of layers in NumPy, for scoring without PyTorch; without gradients."""

import math
import mmap
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.kernels.native import library
from pairlight.kernels.native.conv2d import conv2d
from pairlight.kernels.native.distances import distances
from pairlight.kernels.native.embedding_sums import embedding_sums
from pairlight.kernels.native.kernel_counts import cosine_counts, kernel_counts
from pairlight.kernels.native.kmax import kmax
from pairlight.kernels.native.library import set_threads, threads
from pairlight.kernels.native.lstm import bilstm, lstm, lstm_of_rows
from pairlight.kernels.native.matmul import linear, matmul
from pairlight.kernels.native.ngram_sums import ngram_sums
from pairlight.kernels.native.pair_features import pair_features
from pairlight.kernels.native.product_kmax import product_kmax
from pairlight.kernels.native.product_max import product_max
from pairlight.kernels.native.segment_max import segment_max
from pairlight.kernels.native.spatial_gru import spatial_gru, spatial_gru_states
from pairlight.kernels.native.token_matches import token_matches

__all__ = [
    "bilstm",
    "conv2d",
    "cosine_counts",
    "distances",
    "embedding_sums",
    "kernel_counts",
    "kmax",
    "linear",
    "lstm",
    "lstm_of_rows",
    "matmul",
    "ngram_sums",
    "pair_features",
    "product_kmax",
    "product_max",
    "segment_max",
    "set_threads",
    "spatial_gru",
    "spatial_gru_states",
    "threads",
    "token_matches",
]

NAME = "numpy"

Array = NDArray[Any]

_MARKS = 100  # for each id, at most, to find the distinct ones

tanh = np.tanh
exp = np.exp
log = np.log
log10 = np.log10
amax = np.max
minimum = np.minimum
maximum = np.maximum
stack = np.stack
nonzero = np.nonzero
einsum = np.einsum
copy = np.copy
no_grad = nullcontext


# Creating arrays


def manual_seed(seed: int) -> None:
    """Nothing is random here."""


def new_parameter(shape: Sequence[int], bound: float) -> Array:
    """Zeros, to be overwritten with trained weights."""
    return np.zeros(shape, np.float32)


def new_embedding(rows: int, dim: int, padding_id: int) -> Array:
    return np.zeros((rows, dim), np.float32)


def new_buffer(shape: Sequence[int], fill: float, dtype: str) -> Array:
    # Zeros take no memory until they are written to.
    return np.full(shape, fill, dtype) if fill else np.zeros(shape, dtype)


def arange(n: int, like: Array) -> Array:
    return np.arange(n)


def ones_like_ids(ids: Array) -> Array:
    return np.ones(ids.shape, np.bool_)


def zeros_like_mask(mask: Array) -> Array:
    return np.zeros(mask.shape, np.int64)


# State


def copy_into(target: Array, source: Array) -> None:
    np.copyto(target, source)


def to_numpy(x: Array) -> Array:
    return x


def from_numpy(x: Array, like: Array) -> Array:
    return x


def zeros(shape: Sequence[int], like: Array) -> Array:
    return np.zeros(shape, like.dtype)


def sparse_zeros(shape: Sequence[int], like: Array) -> Array:
    # NumPy asks Linux for pages of 2 MB, which a few rows here and there would soon fill.
    if not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return zeros(shape, like)
    memory = mmap.mmap(-1, math.prod(shape) * like.itemsize, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, like.dtype).reshape(shape)


def version(x: Array) -> tuple[int, int]:
    # Weights are not changed after they are loaded.
    return x.ctypes.data, 0


def outside_inference_mode() -> Any:
    return nullcontext()


def detach(x: Array) -> Array:
    return x


def grad_enabled() -> bool:
    return False


def has_kernels(x: Array) -> bool:
    return x.dtype == np.float32 and library.native(x.dtype) is not None


# Shapes


def cat(arrays: Sequence[Array], axis: int = 0) -> Array:
    return np.concatenate(arrays, axis)


def tile(x: Array, times: int) -> Array:
    return np.tile(x, (times, *[1] * (x.ndim - 1)))


def repeat(x: Array, times: int | Array, axis: int) -> Array:
    return np.repeat(x, times, axis)


def pad(x: Array, widths: Sequence[tuple[int, int]], value: float = 0.0) -> Array:
    outer = x.ndim - len(widths)
    sizes = x.shape[outer:]
    kept: list[Any] = [slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(sizes, widths, strict=True)]
    x = x[..., *kept]
    added = [(max(low, 0), max(high, 0)) for low, high in widths]
    shape = [n + low + high for n, (low, high) in zip(x.shape[outer:], added, strict=True)]
    padded = np.full((*x.shape[:outer], *shape), value, x.dtype)  # several times as fast as np.pad
    inside: list[Any] = [slice(low, low + n) for n, (low, _) in zip(x.shape[outer:], added, strict=True)]
    padded[..., *inside] = x
    return padded


def transpose(x: Array, first: int, second: int) -> Array:
    return x.swapaxes(first, second)


def permute(x: Array, axes: Sequence[int]) -> Array:
    return x.transpose(axes)


def take_along_axis(x: Array, indices: Array, axis: int) -> Array:
    return np.take_along_axis(x, indices, axis)


def broadcast_to(x: Array, shape: Sequence[int]) -> Array:
    own = [1] * (len(shape) - x.ndim) + list(x.shape)
    return np.broadcast_to(x, [size if size >= 0 else known for size, known in zip(shape, own, strict=True)])


def cast(x: Array, like: Array) -> Array:
    return x.astype(like.dtype)


def double(x: Array) -> Array:
    return x.astype(np.float64)


def truncate(x: Array) -> Array:
    return x.astype(np.int64)


def smallest_number(x: Array) -> float:
    return float(np.finfo(x.dtype).min)


# Numbers


def where(condition: Array, x: Any, y: Any) -> Array:
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return np.where(condition, x, y)
    # Where the condition holds everywhere, as for texts of equal length, nothing is copied.
    if isinstance(x, np.ndarray) and condition.all():
        shape = np.broadcast_shapes(condition.shape, x.shape)
        return x if shape == x.shape else np.broadcast_to(x, shape)
    # As in PyTorch, a Python number takes the type of the array.
    like = x if isinstance(x, np.ndarray) else y
    x, y = (each if isinstance(each, np.ndarray) else np.asarray(each, like.dtype) for each in (x, y))
    return np.where(condition, x, y)


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * np.tanh(0.5 * x) + 0.5)  # equal to 1 / (1 + exp(-x)), and never too large


def clip(x: Array, low: float | None = None, high: float | None = None) -> Array:
    return np.clip(x, low, high)


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(e / e.sum(axis, keepdims=True))


def normalize(x: Array, eps: float) -> Array:
    lengths = np.sqrt(np.einsum("...d,...d->...", x, x))[..., None]  # several times as fast as a sum of squares
    return np.asarray(x / np.maximum(lengths, eps))


def dropout(x: Array, p: float, training: bool) -> Array:
    return x


def add_product(start: Array, x: Array, weight: Array) -> Array:
    return linear(x, weight, start) if start.ndim == 1 else linear(x, weight) + start


def topk(x: Array, k: int) -> Array:
    return -np.sort(np.partition(-x, k - 1, -1)[..., :k], -1)


def topk_indices(x: Array, k: int) -> Array:
    found = np.argpartition(-x, k - 1, -1)[..., :k]
    order = np.argsort(-np.take_along_axis(x, found, -1), -1)
    return np.take_along_axis(found, order, -1)


def argsort(x: Array) -> Array:
    return np.argsort(x, -1, kind="stable")


def argmax(x: Array) -> Array:
    return x.argmax(-1)[..., None]


def embedding(weight: Array, ids: Array, padding_id: int, sparse: bool) -> Array:
    return weight[ids]


def occurs(indices: Array, count: int) -> Array:
    found = np.zeros((len(indices), count), np.bool_)
    np.put_along_axis(found, indices, True, 1)
    return found


def sums_by_index(indices: Array, values: Array, count: int) -> Array:
    rows = values.shape[:-1]
    first = np.arange(0, values[..., 0].size * count, count).reshape(*rows, 1)  # of each row, in one flat array
    sums = np.bincount((first + indices).reshape(-1), values.reshape(-1), values[..., 0].size * count)
    return sums.astype(values.dtype).reshape(*rows, count)


def half_rows(table: Array, ids: Array) -> Array:
    return table[ids].astype(np.float32)


def unique(x: Array) -> tuple[Array, Array]:
    count = int(x.max(initial=-1)) + 1
    if count > _MARKS * x.size:
        distinct, at = np.unique(x, return_inverse=True)
        return distinct, at.reshape(x.shape)
    marks = np.zeros(count, np.bool_)  # several times as fast as sorting
    marks[x] = True
    distinct = np.flatnonzero(marks)
    number = np.empty(count, np.int64)
    number[distinct] = np.arange(len(distinct))
    return distinct, number[x]


def searchsorted(ascending: Array, values: Array) -> Array:
    return np.searchsorted(ascending, values)


def rows(x: Array, indices: Array) -> Array:
    return x[indices]


def max_pool1d(x: Array, size: int) -> Array:
    return np.lib.stride_tricks.sliding_window_view(x, size, -1).max(-1)


def max_pool2d(x: Array, size: int) -> Array:
    L, R = x.shape[-2:]
    x = pad(x, [(0, -L % size), (0, -R % size)], -np.inf)
    y = x[..., ::size, ::size].copy()
    for i, j in np.ndindex(size, size):  # several times as fast as a maximum over two axes
        np.maximum(y, x[..., i::size, j::size], out=y)
    return y
