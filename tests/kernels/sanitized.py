"""Runs every kernel at many sizes from the library given as argument, which reports its own memory errors."""

import itertools
import os
import sys
from pathlib import Path

import torch

from pairlight.kernels import GruWeights, bilstm, build, kmax, library, product_kmax, spatial_gru

build.LIBRARY = Path(sys.argv[1])
torch.set_num_threads(2)
torch.manual_seed(0)
for width, dtype in itertools.product(library.available(), (torch.float32, torch.float64)):
    os.environ["PAIRLIGHT_KERNELS"] = width

    def leaf(*shape: int, dtype: torch.dtype = dtype) -> torch.Tensor:
        return torch.randn(shape, dtype=dtype).requires_grad_()

    for B, L, R, C, D in [(1, 1, 1, 1, 1), (3, 2, 5, 2, 3), (17, 9, 6, 10, 10), (40, 4, 19, 7, 11)]:
        left, right = torch.randint(0, L + 1, (B,)), torch.randint(0, R + 1, (B,))
        for rows, reverse in itertools.product((7 * D, 4 * D), (False, True)):
            weights = GruWeights(leaf(rows, 3 * D + C), leaf(rows), leaf(D, 3 * D + C), leaf(D))
            s, offset = leaf(B, C, L, R), leaf(B, C, L)
            for given in (None, offset):
                spatial_gru(s, left, right, weights, offset=given, reverse=reverse).sum().backward()
                with torch.no_grad():
                    spatial_gru(s, left, right, weights, offset=given, reverse=reverse)
        for k in (1, 5, 50):
            kmax(s, left, right, k)
            u, v = leaf(B, L, C, D), leaf(B, R, C, D)
            product_kmax(u, v, left, right, k, offset=offset.mT, relu=True)
            product_kmax(u, v[:, :, :1], left, right, k)
            product_kmax(u[:1], v, left[:1], right, k, offset=offset.mT[:1], relu=True)
        ways = [leaf(4 * D, C + D), leaf(4 * D), leaf(4 * D, C + D), leaf(4 * D)]
        for words in (leaf(B, L, C), leaf(B, L, C).detach()):
            bilstm(words, left, *ways).sum().backward()
        with torch.no_grad():
            bilstm(leaf(B, L, C), left, *ways)
print("clean on", *library.available())
