"""Soft alignment of two texts, and the comparison and pooling that follow it in ESIM."""

import torch

from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Grid, Seq


class SoftAlignment(Layer):
    """ũ_i = sum_j softmax_j(s_ij) v_j,   ṽ_j = sum_i softmax_i(s_ij) u_i.   Grid, Seq, Seq -> Seq, Seq"""

    def forward(self, s: Grid, u: Seq, v: Seq) -> tuple[Seq, Seq]:
        to_right, to_left = self.weights(s)
        return u.with_x(to_right @ v.with_x(v.x).x), v.with_x(to_left.mT @ u.with_x(u.x).x)

    def weights(self, s: Grid) -> tuple[Array, Array]:
        """The attention of left words to right words, and of right words to left words: [B, L, R] each."""
        # The smallest finite number instead of -inf, so that rows of padding and their gradients stay finite.
        e = s.x[:, 0].masked_fill(~s.mask, torch.finfo(s.x.dtype).min)  # [B, L, R]
        return e.softmax(2), e.softmax(1)


def compare(u: Seq, aligned: Seq) -> Seq:
    """m_i = [u_i ; ũ_i ; u_i - ũ_i ; u_i ũ_i].   Seq, Seq -> Seq"""
    return u.with_x(torch.cat([u.x, aligned.x, u.x - aligned.x, u.x * aligned.x], -1))


def mean_max_pool(u: Seq) -> Array:
    """[mean of x_t ; max of x_t in every dimension] over the words of a text.   Seq -> [B, 2·D]"""
    padding = ~u.mask[..., None]
    mean = u.x.masked_fill(padding, 0).sum(1) / u.lengths[:, None]
    return torch.cat([mean, u.x.masked_fill(padding, -torch.inf).amax(1)], -1)
