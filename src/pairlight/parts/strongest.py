"""The strongest cells of a grid, found without writing the grid, and with a gradient for them alone."""

import torch
from torch import Tensor
from torch.nn import functional as F

from pairlight.kernels import kmax, product_kmax
from pairlight.parts import Seq
from pairlight.parts.aggregate import KMax
from pairlight.parts.interact import Interaction, Product

FEW = 16  # beyond so many in a channel, picking them out costs more than the gradient of the whole grid


def strongest(interact: Interaction, aggregate: KMax, u: Seq, v: Seq) -> Tensor:
    """aggregate(interact(u, v)): in scoring without a grid, in training with a gradient for the few cells kept.

    All other cells have a gradient of zero, which need not be led through the interaction. Where one of the two stages
    is watched by a hook, both run as they are.
    """
    gradient = torch.is_grad_enabled()
    many = gradient and not (interact.training and aggregate.k <= FEW)
    if many or interact._forward_hooks or aggregate._forward_hooks:
        return aggregate(interact(u, v))
    values, place = _found(interact, aggregate.k, u, v)  # [B, C, K]
    if not gradient:
        return values.flatten(1)
    R, at = v.x.shape[1], place.clamp(min=0)
    cells = interact.cells(_picked(u, at // R), _picked(v, at % R), aggregate.k)  # [B, C, K]
    return cells.masked_fill(place < 0, 0).flatten(1)


@torch.no_grad()
def _found(interact: Interaction, k: int, u: Seq, v: Seq) -> tuple[Tensor, Tensor]:
    if isinstance(interact, Product):
        sides = interact.sides(u, v)
        return product_kmax(sides.u, sides.v, u.lengths, v.lengths, k, offset=sides.offset, relu=sides.relu)
    s = interact(u, v)
    return kmax(s.x, u.lengths.repeat(len(v.x) // len(u.x)), v.lengths, k)


def _picked(u: Seq, place: Tensor) -> Seq:
    """The words at these places of each pair's own text: [B, C, K] -> Seq of B·C·K texts of one word."""
    pair = torch.arange(len(place), device=place.device)[:, None, None] % len(u.x)  # a left text may face several
    at = (pair * u.x.shape[1] + place).view(-1, 1)
    x = F.embedding(at, u.x.flatten(0, 1))  # [B·C·K, 1, D]
    return Seq(x, torch.ones_like(at, dtype=torch.bool), u.ids.flatten()[at])
