"""K-NRM's kernel pooling: differentiable counts of similarities near given values."""

import torch

from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Grid

EXACT_SIGMA = 1e-3  # the width of the kernel of exact matches
MIN_COUNT = 1e-10  # counts are clipped to this before the logarithm
LOG_SCALE = 0.01  # keeps the tanh of the score from saturating


class KernelPooling(Layer):
    """φ_k = sum_i a_i log sum_j b_j exp(-(s_ij - μ_k)² / 2σ_k²) in every channel.   Grid, [B, L], [B, R] -> [B, C·K]

    The first of K kernels matches identical words: μ = 1, σ = 0.001. The others divide the range from 1 to -1 evenly,
    with μ at the center of each part and σ half its width. As in the code of K-NRM's authors, the sum over j is at
    least 10⁻¹⁰ and the logarithm is multiplied by 0.01.
    """

    def __init__(self, kernels: int) -> None:
        count = kernels - 1
        self.mu = [1.0, *(1 - (2 * k + 1) / count for k in range(count))]
        self.sigma = [EXACT_SIGMA, *(1 / count for _ in range(count))]

    def forward(self, s: Grid, a: Array, b: Array) -> Array:
        x = torch.where(s.mask[:, None], s.x, 0)
        a = a.masked_fill(~s.mask.any(2), 0)[:, None, :, None]
        b = b.masked_fill(~s.mask.any(1), 0)[:, None, None, :]
        # One kernel at a time and in place: all at once would write a K times larger grid several times.
        near = ((x - mu).square().mul_(-0.5 / sigma**2).exp_() for mu, sigma in zip(self.mu, self.sigma, strict=True))
        counts = torch.stack([(each * b).sum(-1) for each in near], 2)  # [B, C, K, L]
        return (counts.clamp(min=MIN_COUNT).log().mul(LOG_SCALE) @ a).flatten(1)
