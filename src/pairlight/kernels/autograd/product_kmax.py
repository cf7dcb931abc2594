"""The k largest cells of products of two texts, found without storing the products, in PyTorch without gradients."""

import torch
from torch import Tensor

from pairlight.kernels.autograd import check
from pairlight.kernels.autograd.arrays import array, native_for
from pairlight.kernels.autograd.kmax import kmax_reference
from pairlight.kernels.native.library import Native
from pairlight.kernels.native.product_kmax import check_shapes, product_kmax_into


def product_kmax(
    u: Tensor,
    v: Tensor,
    left_lengths: Tensor,
    right_lengths: Tensor,
    k: int,
    *,
    offset: Tensor | None = None,
    relu: bool = False,
) -> tuple[Tensor, Tensor]:
    """`kmax` of s[n·B,C,L,R] = relu(u·v + offset) for u[B,L,C,D], v[n·B,R,C,D] or v[n·B,R,1,D], and offset[B,L,C].

    Right text r is paired with left text r mod B. Without `relu`, s is the sum itself.
    """
    check_shapes(u, v, k, offset)
    check.floating(u=u, v=v)
    if offset is not None:
        check.floating(u=u, offset=offset)
    left = check.lengths("left_lengths", left_lengths, u.shape[0], u.shape[1], u.device)
    right = check.lengths("right_lengths", right_lengths, v.shape[0], v.shape[1], u.device)
    native = native_for(u)
    if native is None:
        return product_kmax_reference(u, v, left, right, k, offset, relu)
    return _product_kmax_native(native, u, v, left, right, k, offset, relu)


@torch.no_grad()
def product_kmax_reference(
    u: Tensor, v: Tensor, left: Tensor, right: Tensor, k: int, offset: Tensor | None, relu: bool
) -> tuple[Tensor, Tensor]:
    """The reference implementation: computes the whole grid, then its largest cells."""
    times = len(v) // len(u) if len(u) else 1
    if offset is not None:
        offset = offset.repeat(times, 1, 1).transpose(1, 2)[..., None]  # [B,C,L,1]
    s = u.repeat(times, 1, 1, 1).transpose(1, 2) @ v.permute(0, 2, 3, 1)  # [B,C,L,R]
    s = s if offset is None else s + offset
    return kmax_reference(s.relu() if relu else s, left.repeat(times), right, k)


def _product_kmax_native(
    native: Native, u: Tensor, v: Tensor, left: Tensor, right: Tensor, k: int, offset: Tensor | None, relu: bool
) -> tuple[Tensor, Tensor]:
    u, v = (x if x.stride(3) == 1 else x.contiguous() for x in (u, v))
    values = u.new_empty(v.shape[0], u.shape[2], k)
    positions = torch.empty(values.shape, dtype=torch.int64)
    product_kmax_into(
        native,
        array(u),
        array(v),
        array(left),
        array(right),
        None if offset is None else array(offset),
        relu,
        array(values),
        array(positions),
        threads=torch.get_num_threads(),
    )
    return values, positions
