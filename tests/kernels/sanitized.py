"""Runs every kernel with the library given as argument, which reports its own memory errors.

The sizes are a few fixed ones, or as many as the second argument says, drawn by hypothesis.
"""

import itertools
import os
import sys
from pathlib import Path

import hypothesis
import numpy as np
import torch
from hypothesis import strategies as st

from pairlight.kernels.autograd.conv2d import conv2d as conv2d_with_gradients
from pairlight.kernels.autograd.kernel_counts import cosine_counts, kernel_counts
from pairlight.kernels.autograd.kmax import kmax
from pairlight.kernels.autograd.lstm import bilstm
from pairlight.kernels.autograd.matmul import add_product
from pairlight.kernels.autograd.ngram_sums import ngram_sums
from pairlight.kernels.autograd.pair_features import pair_features
from pairlight.kernels.autograd.product_kmax import product_kmax
from pairlight.kernels.autograd.product_max import product_max
from pairlight.kernels.autograd.segment_max import segment_max as segment_max_with_gradients
from pairlight.kernels.autograd.spatial_gru import GruWeights, spatial_gru
from pairlight.kernels.autograd.token_matches import token_matches
from pairlight.kernels.native import build, library
from pairlight.kernels.native import kernel_counts as native_kernel_counts
from pairlight.kernels.native import kmax as native_kmax
from pairlight.kernels.native import lstm as native_lstm
from pairlight.kernels.native import pair_features as native_pair_features
from pairlight.kernels.native import product_kmax as native_product_kmax
from pairlight.kernels.native import product_max as native_product_max
from pairlight.kernels.native import spatial_gru as native_spatial_gru
from pairlight.kernels.native import token_matches as native_token_matches
from pairlight.kernels.native.conv2d import conv2d
from pairlight.kernels.native.distances import distances
from pairlight.kernels.native.embedding_sums import embedding_sums
from pairlight.kernels.native.head import Head
from pairlight.kernels.native.matmul import matmul_into
from pairlight.kernels.native.segment_max import segment_max
from pairlight.kernels.native.stored_kmax import StoredRows, stored_kmax
from pairlight.kernels.native.stored_words import StoredWords, WordScorer, text_products

build.LIBRARY = Path(sys.argv[1])
torch.set_num_threads(2)
library.set_threads(2)
torch.manual_seed(0)


def array(x: torch.Tensor) -> "np.typing.NDArray[np.floating]":
    """A copy whose memory is exactly as large as its numbers, so that accesses past its end are detected."""
    return x.detach().numpy().copy()


def drawn(*limits: int) -> list[tuple[int, ...]]:
    """Sizes from 1 to these limits, drawn by hypothesis, which prefers extremes."""
    found: list[tuple[int, ...]] = []

    @hypothesis.settings(max_examples=int(sys.argv[2]), database=None, derandomize=True, deadline=None)
    @hypothesis.given(st.tuples(*(st.integers(1, limit) for limit in limits)))
    def draw(sizes: tuple[int, ...]) -> None:
        found.append(sizes)

    draw()
    return found


SIZES: list[tuple[int, ...]] = []
STORED_SIZES: list[tuple[int, ...]] = []
if len(sys.argv) == 2:
    SIZES += [(1, 1, 1, 1, 1), (3, 2, 5, 2, 3), (17, 9, 6, 10, 10), (40, 4, 19, 7, 11)]
    STORED_SIZES += [(1, 1, 1, 1, 1), (5, 3, 9, 2, 7), (40, 11, 30, 4, 33), (3, 70, 80, 1, 16)]

for width, dtype in itertools.product(library.available(), (torch.float32, torch.float64)):
    os.environ["PAIRLIGHT_KERNELS"] = width

    def leaf(*shape: int, dtype: torch.dtype = dtype) -> torch.Tensor:
        return torch.randn(shape, dtype=dtype).requires_grad_()

    for B, L, R, C, D in SIZES or drawn(8, 40, 40, 6, 20):
        left, right = torch.randint(0, L + 1, (B,)), torch.randint(0, R + 1, (B,))
        lengths = array(left), array(right)
        for rows, reverse in itertools.product((7 * D, 4 * D), (False, True)):
            weights = GruWeights(leaf(rows, 3 * D + C), leaf(rows), leaf(D, 3 * D + C), leaf(D))
            s, offset = leaf(B, C, L, R), leaf(B, C, L)
            for given in (None, offset):
                spatial_gru(s, left, right, weights, offset=given, reverse=reverse).sum().backward()
                native_spatial_gru.spatial_gru(
                    array(s),
                    *lengths,
                    GruWeights(*map(array, weights)),
                    offset=None if given is None else array(given),
                    reverse=reverse,
                )
        for k in (1, 5, 50):
            kmax(s, left, right, k)
            native_kmax.kmax(array(s), *lengths, k)
            u, v = leaf(B, L, C, D), leaf(B, R, C, D)
            product_kmax(u, v, left, right, k, offset=offset.mT, relu=True)
            product_kmax(u, v[:, :, :1], left, right, k)
            product_kmax(u[:1], v, left[:1], right, k, offset=offset.mT[:1], relu=True)
            native_product_kmax.product_kmax(array(u), array(v), *lengths, k, offset=array(offset.mT))
        for k in (0, 1, 5, 50):
            u, v = leaf(B, L, D), leaf(B, R, D)
            for few, of_few in ((u, left), (u[:1], left[:1])):
                found = product_max(few, v, of_few, right, k)
                (found.rows.sum() + found.columns.sum() + found.values.sum()).backward()
            native_product_max.product_max(array(u), array(v), *lengths, k)
        left_ids, right_ids = torch.randint(0, 5, (B, L)), torch.randint(0, 5, (B, R))
        token_matches(left_ids, right_ids, left, right)
        token_matches(left_ids[:1], right_ids, left[:1], right)
        native_token_matches.token_matches(array(left_ids), array(right_ids), *lengths)
        words = native_pair_features.WordTable(leaf(5, D), leaf(5), leaf(3))
        in_arrays = native_pair_features.WordTable(*map(array, words))
        for k in (0, 1, 5, 50):
            pair_features(words, left_ids, right_ids, left, right, 3.0, k)
            pair_features(words, left_ids[:1], right_ids.repeat(20, 1), left[:1], right.repeat(20), 3.0, k)
            native_pair_features.pair_features(in_arrays, array(left_ids), array(right_ids), *lengths, 3.0, k)
        u, v = leaf(B, L, C, D), leaf(B, R, C, D)
        for kernels in (1, 11, 20):
            mu, sigma = [1 - 2 * k / kernels for k in range(kernels)], [0.001, *[0.1] * (kernels - 1)]
            b = leaf(B, R)
            kernel_counts(s, b, left, right, mu, sigma).sum().backward()
            cosine_counts(u, v[:, :, :2], b, left, right, mu, sigma).sum().backward()
            cosine_counts(u[:1], v, b, left[:1], right, mu, sigma).sum().backward()
            native_kernel_counts.kernel_counts(array(s), array(b), *lengths, mu, sigma)
        for grams in (1, 3):
            parts = leaf(7, grams * (grams + 1) // 2 * D)
            ngram_sums(parts, torch.randint(-1, 7, (B, L)), grams).sum().backward()
        add_product(leaf(R), leaf(B, L, C), leaf(R, C)).sum().backward()
        native = library.native(array(u).dtype)
        assert native is not None
        for a, c in itertools.product((array(leaf(B, L, D)), array(leaf(B, D, L)).swapaxes(1, 2)), repeat=2):
            matmul_into(native, a, c.swapaxes(1, 2), array(leaf(B, L, L)), array(leaf(L)), add=True, threads=2)
        grids, words = array(leaf(B, C, L, R)), array(leaf(7, D))
        for size, padding in ((1, 0), (3, 2)):
            conv2d(grids, array(leaf(9, C, size, size)), array(leaf(9)), padding)
            filtered = conv2d_with_gradients(leaf(B, C, L, R), leaf(9, C, size, size), leaf(9), padding)
            (filtered * (torch.rand(filtered.shape) < 0.1)).sum().backward()
        segments = torch.randint(0, L, (B, 5, 3)), torch.randint(0, R, (B, 2, 7))
        segment_max(grids, *map(array, segments))
        segment_max_with_gradients(leaf(B, C, L, R), *segments).sum().backward()
        embedding_sums(words, torch.randint(0, 7, (B, L)).numpy(), 0)
        distances(array(leaf(B, L, D)), array(leaf(B, R, D)))
        parameters = [leaf(4 * D, C + D), leaf(4 * D), leaf(4 * D, C + D), leaf(4 * D)]
        for words in (leaf(B, L, C), leaf(B, L, C).detach()):
            bilstm(words, left, *parameters).sum().backward()
            native_lstm.bilstm(array(words), lengths[0], *map(array, parameters))
    # Stored texts are scored in single precision.
    g = np.random.default_rng(0)

    def head(features: int, g: np.random.Generator = g) -> Head:
        arrays = [g.standard_normal(shape).astype(np.float32) for shape in ((features,), (7, features), (7,), (7,))]
        return Head(arrays[0], 0.5, *arrays[1:])

    for T, m, R, C, D in STORED_SIZES or drawn(20, 40, 60, 4, 20):
        start = np.concatenate([[0], np.cumsum(g.integers(1, R + 1, T))])
        texts = g.integers(0, T, 3)
        for parts, k in itertools.product((1, 2), (1, 5, 50)):
            u = g.standard_normal((parts, m, C, D)).astype(np.float32)
            x, factors = g.standard_normal((start[-1], parts * D)), g.random((start[-1], parts)).astype(np.float32)
            for stored in (x.astype(np.float32), x.astype(np.float16), (20 * x).astype(np.int8)):
                scale = g.random(len(x)).astype(np.float32) if stored.dtype == np.int8 else None
                rows = StoredRows(stored, start, scale, factors)
                stored_kmax(rows, u, k, head(parts * C * k), offset=u[..., 0], relu=True)
                stored_kmax(rows, u, k, head(parts * C * k), texts=texts)
        table = native_pair_features.WordTable(*(g.random(s).astype(np.float32) for s in ((9, D), (9,), (5,))))
        ids = g.integers(0, 9, start[-1]).astype(np.int32)
        words = StoredWords(ids, start, np.unique(ids), text_products(table, ids, start))
        for k in (0, 1, 10, 50):
            scorer = WordScorer(table, g.integers(0, 9, m), words, 3.0, k, head(9 + k))
            scorer.scores(), scorer.scores(texts)
print("clean on", *library.available())
