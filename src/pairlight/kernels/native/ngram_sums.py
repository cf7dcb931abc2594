"""The vectors of all n-grams of texts, as sums of parts that depend on one word each, on NumPy arrays.

y[t,n] = relu(sum_j<n p[at[t+j],n,j])    for n = 1 .. grams
"""

import ctypes

import numpy as np

from pairlight.core.errors import InputError
from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import Array, address, contiguous, numbers, pointers
from pairlight.kernels.native.library import Native


class _Call(ctypes.Structure):
    """The same fields in the same order as `NgramSums` in csrc/ngram_sums.hpp."""

    _fields_ = (
        *pointers("p", "at"),
        *numbers("words", "texts", "length", "grams", "filters", "threads"),
        *pointers("y", "d_y", "d_p"),
    )


def ngram_sums(p: Array, at: Array, grams: int) -> Array:
    """p[N,F·grams·(grams+1)/2], ordered by n, then j; at[B,L], -1 where there is no word -> y[B,L,grams·F].

    After the end of a text, and where there is no word, parts are 0. An n-gram that starts there is 0.
    """
    check.floating(p=p)
    filters = check_shapes(p, at, grams)
    at = check.integers("at", at)
    check_range(int(at.min(initial=-1)), int(at.max(initial=-1)), len(p))
    native = library.native(p.dtype)
    if native is None:
        return ngram_sums_reference(p, at, grams)
    y = np.empty((*at.shape, grams * filters), p.dtype)
    ngram_sums_into(native, contiguous(p), at, y, grams, threads=library.threads())
    return y


def check_shapes(p: check.Shaped, at: check.Shaped, grams: int) -> int:
    """Check the shapes of NumPy arrays or PyTorch tensors, and return the number of filters."""
    check.dimensions("p", p, "NF")
    check.dimensions("at", at, "BL")
    parts = grams * (grams + 1) // 2
    if grams < 1 or p.shape[1] % parts:
        raise InputError(f"p has {p.shape[1]} columns: pass a multiple of {parts} for n-grams of up to {grams} words.")
    return p.shape[1] // parts


def check_range(least: int, most: int, words: int) -> None:
    """Check that numbers of words between `least` and `most` are rows, or -1."""
    if least < -1 or most >= words:
        raise InputError(f"at has values from {least} to {most}: pass numbers from -1 to {words - 1}.")


def ngram_sums_reference(p: Array, at: Array, grams: int) -> Array:
    """The reference implementation: the parts of all positions, then their sums."""
    B, L = at.shape
    parts = np.zeros((B, L + grams - 1, grams * (grams + 1) // 2, p.shape[1] // (grams * (grams + 1) // 2)), p.dtype)
    parts[:, :L][at >= 0] = p[at[at >= 0]].reshape(-1, *parts.shape[2:])
    y = [sum(parts[:, j : j + L, n * (n - 1) // 2 + j] for j in range(n)) for n in range(1, grams + 1)]
    relu = np.maximum(np.concatenate(y, -1), 0)
    relu[at < 0] = 0
    return relu


def ngram_sums_into(native: Native, p: Array, at: Array, y: Array, grams: int, *, threads: int) -> None:
    """Write the n-grams to y[B,L,grams·F]. All arrays are contiguous."""
    call = _call(p, at, y, grams, threads)
    native.run("ngram_sums", p.dtype, call)


def ngram_sums_backward(
    native: Native, d_p: Array, at: Array, y: Array, d_y: Array, grams: int, *, threads: int
) -> None:
    """Write the gradient of p, from y and its gradient."""
    call = _call(d_p, at, y, grams, threads)
    call.d_y, call.d_p = address(d_y), address(d_p)
    native.run("ngram_sums_backward", y.dtype, call)


def _call(p: Array, at: Array, y: Array, grams: int, threads: int) -> _Call:
    return _Call(
        p=address(p),
        at=address(at),
        words=len(p),
        texts=at.shape[0],
        length=at.shape[1],
        grams=grams,
        filters=y.shape[2] // grams,
        threads=threads,
        y=address(y),
    )
