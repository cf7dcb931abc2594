"""The array functions of layers in PyTorch: differentiable, on any device."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pairlight.kernels.autograd import arrays
from pairlight.kernels.autograd.conv2d import conv2d
from pairlight.kernels.autograd.elementwise import normalize, where
from pairlight.kernels.autograd.kernel_counts import cosine_counts, kernel_counts
from pairlight.kernels.autograd.kmax import kmax
from pairlight.kernels.autograd.lstm import bilstm, lstm, lstm_of_rows
from pairlight.kernels.autograd.matmul import add_product, linear, matmul
from pairlight.kernels.autograd.ngram_sums import ngram_sums
from pairlight.kernels.autograd.pair_features import pair_features
from pairlight.kernels.autograd.product_kmax import product_kmax
from pairlight.kernels.autograd.product_max import product_max
from pairlight.kernels.autograd.segment_max import segment_max
from pairlight.kernels.autograd.spatial_gru import spatial_gru, spatial_gru_states
from pairlight.kernels.autograd.token_matches import token_matches

__all__ = [
    "add_product",
    "bilstm",
    "conv2d",
    "cosine_counts",
    "kernel_counts",
    "kmax",
    "linear",
    "lstm",
    "lstm_of_rows",
    "matmul",
    "ngram_sums",
    "normalize",
    "pair_features",
    "product_kmax",
    "product_max",
    "segment_max",
    "spatial_gru",
    "spatial_gru_states",
    "token_matches",
    "where",
]

NAME = "torch"

cat = torch.cat
minimum = torch.minimum
maximum = torch.maximum
relu = torch.relu
tanh = torch.tanh
sigmoid = torch.sigmoid
exp = torch.exp
log = torch.log
log10 = torch.log10
amax = torch.amax
stack = torch.stack
einsum = torch.einsum
no_grad = torch.no_grad
manual_seed = torch.manual_seed


# Creating arrays


def new_parameter(shape: Sequence[int], bound: float) -> nn.Parameter:
    """Uniform within ±bound; zeros if the bound is 0."""
    if bound == 0:
        return nn.Parameter(torch.zeros(*shape))
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))


def new_embedding(rows: int, dim: int, padding_id: int) -> nn.Parameter:
    """From the standard normal distribution, with a padding row of zeros."""
    table = torch.empty(rows, dim).normal_()
    table[padding_id] = 0
    return nn.Parameter(table)


def new_buffer(shape: Sequence[int], fill: float, dtype: str) -> Tensor:
    return torch.full(tuple(shape), fill, dtype=getattr(torch, dtype))


def arange(n: int, like: Tensor) -> Tensor:
    return torch.arange(n, device=like.device)


def ones_like_ids(ids: Tensor) -> Tensor:
    """A mask of the same shape that is true everywhere."""
    return torch.ones_like(ids, dtype=torch.bool)


def zeros_like_mask(mask: Tensor) -> Tensor:
    """An id of 0 for every position of a mask."""
    return torch.zeros_like(mask, dtype=torch.int64)


# State


def copy_into(target: Tensor, source: Any) -> None:
    """Copy values, from a NumPy array too; the target keeps its type and device."""
    with torch.no_grad():
        target.copy_(source if isinstance(source, Tensor) else torch.tensor(source))


def to_numpy(x: Tensor) -> Any:
    return x.detach().cpu().numpy()


def from_numpy(x: Any, like: Tensor) -> Tensor:
    """A NumPy array in this library, on the device of another array."""
    return torch.from_numpy(x).to(like.device)


def zeros(shape: Sequence[int], like: Tensor) -> Tensor:
    """Zeros of the type and on the device of another array."""
    return torch.zeros(*shape, dtype=like.dtype, device=like.device)


def sparse_zeros(shape: Sequence[int], like: Tensor) -> Tensor:
    """Zeros of which, on NumPy, only the rows that are written to take memory."""
    return zeros(shape, like)


def version(x: Tensor) -> tuple[int, int]:
    """Changes whenever the array is written to or replaced."""
    return x.data_ptr(), 0 if x.is_inference() else x._version


def copy(x: Tensor) -> Tensor:
    return x.clone()


def outside_inference_mode() -> Any:
    """A context in which gradients can be computed, whatever the mode of the caller."""
    return torch.inference_mode(False)


def threads() -> int:
    return torch.get_num_threads()


def set_threads(n: int) -> None:
    torch.set_num_threads(n)


def detach(x: Tensor) -> Tensor:
    return x.detach()


def grad_enabled() -> bool:
    return torch.is_grad_enabled()


def has_kernels(x: Tensor) -> bool:
    """Whether compiled kernels that exist in single precision only are used for such arrays."""
    return x.dtype == torch.float32 and arrays.native_for(x) is not None


# Shapes


def tile(x: Tensor, times: int) -> Tensor:
    """The whole batch, repeated along the first axis."""
    return x.repeat(times, *[1] * (x.dim() - 1))


def repeat(x: Tensor, times: int | Tensor, axis: int) -> Tensor:
    """Each element along an axis so many times: 1 1 2 2. `times` may be a number for each of them."""
    return x.repeat_interleave(times, axis)


def pad(x: Tensor, widths: Sequence[tuple[int, int]], value: float = 0.0) -> Tensor:
    """Add zeros, or this value, before and after along the last axes; a negative width truncates."""
    return F.pad(x, [width for pair in reversed(widths) for width in pair], value=value)


def transpose(x: Tensor, first: int, second: int) -> Tensor:
    return x.transpose(first, second)


def permute(x: Tensor, axes: Sequence[int]) -> Tensor:
    return x.permute(*axes)


def take_along_axis(x: Tensor, indices: Tensor, axis: int) -> Tensor:
    return x.gather(axis, indices)


def broadcast_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    return x.expand(*shape)


def cast(x: Tensor, like: Tensor) -> Tensor:
    """The same values in the type of another array."""
    return x.to(like.dtype)


def double(x: Tensor) -> Tensor:
    """In double precision."""
    return x.double()


def truncate(x: Tensor) -> Tensor:
    """The integer part."""
    return x.long()


def smallest_number(x: Tensor) -> float:
    """The smallest finite number of the type of an array."""
    return torch.finfo(x.dtype).min


# Numbers


def clip(x: Tensor, low: float | None = None, high: float | None = None) -> Tensor:
    return x.clamp(low, high)


def softmax(x: Tensor, axis: int) -> Tensor:
    return x.softmax(axis)


def distances(u: Tensor, v: Tensor) -> Tensor:
    """|u_i - v_j|, not from dot products, so that equal vectors have distance 0 exactly.   [.., L, D], [.., R, D]"""
    return torch.cdist(u, v, compute_mode="donot_use_mm_for_euclid_dist")


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    return F.dropout(x, p, training)


def topk(x: Tensor, k: int) -> Tensor:
    """The k largest values of the last axis, largest first."""
    return x.topk(k, -1).values


def topk_indices(x: Tensor, k: int) -> Tensor:
    """The indices of the k largest values of the last axis, that of the largest first; without gradient."""
    with torch.no_grad():
        return x.topk(k, -1).indices


def argsort(x: Tensor) -> Tensor:
    """The indices that sort each row; equal values keep their order."""
    return x.argsort(dim=-1, stable=True)


def nonzero(x: Tensor) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, one array for each axis."""
    return x.nonzero(as_tuple=True)


def argmax(x: Tensor) -> Tensor:
    """The index of the largest value along the last axis: [..., 1]."""
    with torch.no_grad():
        return x.argmax(-1, keepdim=True)


def embedding(weight: Tensor, ids: Tensor, padding_id: int, sparse: bool) -> Tensor:
    """Rows of a table; the padding row gets no gradient. With `sparse`, the gradient has only the rows that occur."""
    if not (sparse and weight.requires_grad and torch.is_grad_enabled()):
        return F.embedding(ids, weight, padding_id)
    # Each distinct word is read once: its gradient is then summed in the same order as a dense one, with equal bits.
    words, inverse = ids.unique(return_inverse=True)
    return F.embedding(inverse, F.embedding(words, weight, padding_id, sparse=True))


def embedding_sums(weight: Tensor, ids: Tensor, padding_id: int) -> Tensor:
    """The sum of the rows with these ids, without those of padding.   [U, P] -> [U, D]"""
    return F.embedding_bag(ids, weight, mode="sum", padding_idx=padding_id)


def occurs(indices: Tensor, count: int) -> Tensor:
    """Whether each of so many indices occurs in a row.   [B, N] -> [B, count]"""
    return torch.zeros(len(indices), count, dtype=torch.bool, device=indices.device).scatter_(1, indices, True)


def sums_by_index(indices: Tensor, values: Tensor, count: int) -> Tensor:
    """The sums of the values with each of so many indices, along the last axis.   [.., N], [.., N] -> [.., count]"""
    return values.new_zeros(*values.shape[:-1], count).scatter_add(-1, indices, values)


def half_rows(table: Tensor, ids: Tensor) -> Tensor:
    """Rows of a table in half precision, in single precision."""
    return F.embedding(ids, table).float()


def unique(x: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct values, and the position among them of every value."""
    return x.unique(return_inverse=True)


def searchsorted(ascending: Tensor, values: Tensor) -> Tensor:
    """Where each value would be inserted."""
    return torch.searchsorted(ascending, values)


def rows(x: Tensor, indices: Tensor) -> Tensor:
    """x[indices], with a cheaper gradient than indexing."""
    return F.embedding(indices, x)


def max_pool1d(x: Tensor, size: int) -> Tensor:
    """The maximum of every window of so many values along the last axis."""
    return F.max_pool1d(x, size, 1)


def max_pool2d(x: Tensor, size: int) -> Tensor:
    """Max pooling over size x size cells; windows at the edge may be smaller."""
    return F.max_pool2d(x, size, ceil_mode=True)
