"""Scores one left text with stored right texts by the k largest cells of their products, on NumPy arrays."""

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import Array, address, contiguous, numbers, pointers
from pairlight.kernels.native.head import Head, HeadFields, packed
from pairlight.kernels.native.kmax import largest_cells

_TYPES = {np.dtype(np.float32): 0, np.dtype(np.float16): 1, np.dtype(np.int8): 2}


class StoredRows(NamedTuple):
    """Right texts as rows of numbers: text t is the rows start[t] to start[t+1]."""

    x: Array  # [rows,D] float32, float16 or int8
    start: NDArray[np.int64]  # [T+1]
    scale: NDArray[np.float32] | None = None  # [rows] the factor of int8 values
    # [rows,P] what the products with the P parts of a row are multiplied by: for a cosine, scale / length.
    factors: NDArray[np.float32] | None = None
    reach: float = np.inf  # the length of the longest row


class _Call(ctypes.Structure):
    """The same fields in the same order as `StoredKMax` in csrc/stored_kmax.hpp."""

    _fields_ = (
        *pointers("x", "factors", "start", "texts", "u", "pairs", "units", "offset"),
        *numbers("type", "rows", "count", "dim", "parts", "channels", "words", "k", "relu", "threads"),
        ("head", HeadFields),
        *pointers("base", "scores"),
    )


def stored_kmax(
    rows: StoredRows,
    u: Array,
    k: int,
    head: Head,
    *,
    offset: Array | None = None,
    relu: bool = False,
    base: Array | None = None,
    texts: NDArray[np.int64] | None = None,
) -> NDArray[np.float32]:
    """head(kmax(s)) + base for s = relu(u·x + offset) of a left text u[P,L,C,D/P] and every right text, or some.

    A row has P parts, each compared with the C channels of its own part of u. `offset` is [P,L,C]. With `texts`, only
    these are scored, and `base` belongs to them.
    """
    parts, words, channels, width = _check(rows, u, k, head, offset)
    texts = None if texts is None else check.integers("texts", texts)
    if texts is not None and len(texts):
        check.length_range("texts", int(texts.min()), int(texts.max()), len(rows.start) - 2)
    count = len(rows.start) - 1 if texts is None else len(texts)
    if base is not None:
        check.shape("base", base, count)
        base = contiguous(base.astype(np.float32, copy=False))
    native = library.native(np.float32)
    if native is None:
        return _reference(rows, u, k, head, offset, relu, base, texts)
    # Channel after channel, each with all its words.
    lanes = np.ascontiguousarray(u.transpose(0, 2, 1, 3)).reshape(parts * channels * words, width)
    pairs, units = _integers(lanes) if rows.x.dtype == np.int8 else (None, None)
    in_lanes = None if offset is None else np.ascontiguousarray(offset.transpose(0, 2, 1), np.float32)
    factors = rows.scale if rows.factors is None else rows.factors
    factors = None if factors is None else contiguous(factors.astype(np.float32, copy=False))
    fields, kept = packed(head)
    scores = np.empty(count, np.float32)
    x = contiguous(rows.x)
    given = {
        "x": x, "factors": factors, "start": rows.start, "texts": texts, "u": lanes, "pairs": pairs, "units": units,
        "offset": in_lanes, "base": base, "scores": scores,
    }  # fmt: skip
    call = _Call(
        **{name: None if array is None else address(array) for name, array in given.items()},
        type=_TYPES[x.dtype],
        rows=len(x),
        count=count,
        dim=parts * width,
        parts=parts,
        channels=parts * channels,
        words=words,
        k=k,
        relu=relu,
        threads=library.threads(),
        head=fields,
    )
    native.run("stored_kmax", np.float32, call)
    del kept
    return scores


def _check(rows: StoredRows, u: Array, k: int, head: Head, offset: Array | None) -> tuple[int, int, int, int]:
    check.dimensions("x", rows.x, "ND")
    check.dimensions("u", u, "PLCD")
    check.floating(float32=np.zeros(0, np.float32), u=u)
    parts, words, channels, width = u.shape
    if rows.x.dtype not in _TYPES:
        raise InputError(f"x has dtype {rows.x.dtype}: pass float32, float16 or int8.")
    if min(words, channels, k, parts) < 1:
        raise InputError(f"u has shape {list(u.shape)} and k is {k}: pass at least one word, one channel and k of 1.")
    check.shape("x", rows.x, len(rows.x), parts * width)
    check.dimensions("start", rows.start, "T")
    if rows.start.dtype != np.int64 or not rows.start.flags.c_contiguous or not len(rows.start):
        raise InputError("start is not a contiguous array of int64: convert it.")
    if (rows.scale is None) != (rows.x.dtype != np.int8):
        raise InputError("int8 rows have a scale, and others have none: pass one of the two.")
    if rows.scale is not None:
        check.shape("scale", rows.scale, len(rows.x))
    if rows.factors is not None:
        check.shape("factors", rows.factors, len(rows.x), parts)
    elif rows.scale is not None and parts > 1:
        raise InputError(f"There are {parts} parts and no factors: pass the factor of every part.")
    if offset is not None:
        check.shape("offset", offset, parts, words, channels)
    head.check(parts * channels * k)
    return parts, words, channels, width


def _integers(u: Array) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Rows as multiples of a unit, so small that the sum of their products with int8 rows is a 32-bit integer."""
    columns, width = u.shape
    most = min(2**15 - 1, (2**31 - 1) // (128 * max(width, 1)))
    units = np.abs(u).max(1, initial=0) / np.float32(most)
    units[~(units > 0)] = 1  # NaN included: its cells are NaN, see below
    pairs = np.zeros((columns, width + width % 2), np.int16)
    with np.errstate(invalid="ignore"):
        pairs[:, :width] = np.rint(u / units[:, None])
    units[~np.isfinite(u).all(1)] = np.nan
    return pairs, units.astype(np.float32)


@np.errstate(over="ignore", invalid="ignore")
def _reference(
    rows: StoredRows,
    u: Array,
    k: int,
    head: Head,
    offset: Array | None,
    relu: bool,
    base: Array | None,
    texts: NDArray[np.int64] | None,
) -> NDArray[np.float32]:
    """The reference implementation: computes the grid of each pair, then sorts its cells."""
    parts, words, channels, width = u.shape
    numbers = range(len(rows.start) - 1) if texts is None else texts.tolist()
    features = np.zeros((len(numbers), parts * channels, k), np.float32)
    ignored = np.zeros((parts * channels, k), np.int64)
    for at, text in enumerate(numbers):
        first, end = int(rows.start[text]), int(rows.start[text + 1])
        if not 0 <= first <= end <= len(rows.x):
            raise InputError(library.OUTSIDE)
        x = rows.x[first:end].astype(np.float32).reshape(end - first, parts, width)
        s: Any = np.einsum("plcd,npd->pcln", u, x)
        if rows.factors is not None:
            s = s * rows.factors[first:end].T[:, None, None]
        elif rows.scale is not None:
            s = s * rows.scale[first:end]
        if offset is not None:
            s = s + offset.transpose(0, 2, 1)[..., None]
        s = np.maximum(s, 0) if relu else s
        largest_cells(s.reshape(parts * channels, words, end - first), end - first, features[at], ignored)
    scores = head.score(features.reshape(len(numbers), parts * channels * k))
    return np.asarray(scores if base is None else scores + base, np.float32)
