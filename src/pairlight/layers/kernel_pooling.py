"""Similarities are counted in bins with soft edges, so that the counts can teach the word vectors."""

import torch
from torch import Tensor

from pairlight.layers.layer import Layer
from pairlight.layers.types import Grid

SHARP, LEAST, SCALE = 1e-3, 1e-10, 0.01


class KernelPooling(Layer):
    """φ_k = sum_i a_i log sum_j b_j exp(-(s_ij - μ_k)² / 2σ_k²).   Grid, [B, L], [B, R] -> [B, C·K]

    Every channel apart. Of K kernels the first sees the same word only: μ = 1, σ = 0.001. The others cut the span
    from 1 down to -1 evenly, μ in the middle of each piece and σ half its width. As in K-NRM's authors' code a sum
    counts as 10⁻¹⁰ at least and the logarithm is taken times 0.01, which keeps the tanh behind it from saturating.
    """

    def __init__(self, kernels: int) -> None:
        pieces = kernels - 1
        self.mu = [1.0, *(1 - (2 * k + 1) / pieces for k in range(pieces))]
        self.sigma = [SHARP, *(1 / pieces for _ in range(pieces))]

    def forward(self, s: Grid, a: Tensor, b: Tensor) -> Tensor:
        x = torch.where(s.mask[:, None], s.x, 0)
        a = a.masked_fill(~s.mask.any(2), 0)[:, None, :, None]
        b = b.masked_fill(~s.mask.any(1), 0)[:, None, None, :]
        # One kernel after another, each in place: all at once would write a grid K times as large several times over.
        near = ((x - mu).square().mul_(-0.5 / sigma**2).exp_() for mu, sigma in zip(self.mu, self.sigma, strict=True))
        soft = torch.stack([(each * b).sum(-1) for each in near], 2)  # [B, C, K, L]
        return (soft.clamp(min=LEAST).log().mul(SCALE) @ a).flatten(1)
