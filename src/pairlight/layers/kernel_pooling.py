"""K-NRM's kernel pooling: differentiable counts of similarities near given values."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer
from pairlight.layers.ngrams import NgramCosine
from pairlight.layers.tracing import is_watched
from pairlight.layers.types import Array, Grid, Seq, tile_left_vectors

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
        in_row, in_column = s.mask.any(2), s.mask.any(1)
        counts = array_namespace(s.x).kernel_counts(s.x, b, in_row.sum(1), in_column.sum(1), self.mu, self.sigma)
        return self.features(counts, a, in_row)

    def features(self, counts: Array, a: Array, mask: Array) -> Array:
        """The weighted sums of the logarithms of counts[B,C,L,K].   -> [B, C·K]"""
        xp = array_namespace(counts)
        weights = (xp.where(mask, a, 0) * LOG_SCALE)[:, None, :, None]  # [B, 1, L, 1]
        # Not as a matrix product: PyTorch would compute it by a small product for each channel of each pair.
        return (weights * xp.log(xp.clip(counts, MIN_COUNT))).sum(2).reshape(len(counts), -1)


def fused_kernel_pooling(interact: NgramCosine, aggregate: KernelPooling, u: Seq, v: Seq, a: Array, b: Array) -> Array:
    """aggregate(interact(u, v), a, b), computed without normalizing the vectors or ordering the grid by channels.

    Layers that are watched by a trace run one after the other.
    """
    if is_watched(interact, aggregate):
        phi: Array = aggregate(interact(u, v), a, b)
        return phi
    grams = interact.split(u), interact.split(v)
    counts = array_namespace(u.x).cosine_counts(*grams, b, u.lengths, v.lengths, aggregate.mu, aggregate.sigma)
    return aggregate.features(counts, a, tile_left_vectors(u.mask, v.mask)[0])
