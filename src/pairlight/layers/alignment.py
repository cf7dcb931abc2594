"""Each word looks for its like in the other text: what it finds there is a mixture of the other text's words."""

import torch
from torch import Tensor

from pairlight.layers.types import Grid, Seq


def aligned(s: Grid, u: Seq, v: Seq) -> tuple[Seq, Seq]:
    """ũ_i = sum_j softmax_j(s_ij) v_j,   ṽ_j = sum_i softmax_i(s_ij) u_i.   Grid, Seq, Seq -> Seq, Seq"""
    # The least number in place of -inf: a row without any pair then stays finite, and so does its gradient.
    e = s.x[:, 0].masked_fill(~s.mask, torch.finfo(s.x.dtype).min)  # [B, L, R]
    left, right = u.with_x(u.x).x, v.with_x(v.x).x
    return u.with_x(e.softmax(2) @ right), v.with_x(e.softmax(1).mT @ left)


def contrasted(u: Seq, found: Seq) -> Seq:
    """m_i = [u_i ; ũ_i ; u_i - ũ_i ; u_i ũ_i].   Seq, Seq -> Seq"""
    return u.with_x(torch.cat([u.x, found.x, u.x - found.x, u.x * found.x], -1))


def mean_and_max(u: Seq) -> Tensor:
    """[mean of x_t ; largest x_t of every entry] over a text's own words.   Seq -> [B, 2·D]"""
    outside = ~u.mask[..., None]
    mean = u.x.masked_fill(outside, 0).sum(1) / u.lengths[:, None]
    return torch.cat([mean, u.x.masked_fill(outside, -torch.inf).amax(1)], -1)
