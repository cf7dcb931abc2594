"""The strongest cells of a grid, with a gradient for them alone: Seq, Seq -> [B, C·K]."""

import torch
from torch import Tensor
from torch.nn import functional as F

from pairlight.kernels import kmax
from pairlight.parts import Seq
from pairlight.parts.aggregate import KMax
from pairlight.parts.interact import Interaction

FEW = 16  # beyond so many in a channel, picking them out costs more than the gradient of the whole grid


def strongest(interact: Interaction, aggregate: KMax, u: Seq, v: Seq) -> Tensor:
    """aggregate(interact(u, v)), which in training makes the grid without a gradient, and with it the few cells kept.

    All other cells have a gradient of zero, which need not be led through the interaction.
    """
    if not interact.training or aggregate.k > FEW:
        return aggregate(interact(u, v))
    with torch.no_grad():
        s = interact(u, v)
        _, place = kmax(s.x, s.mask.any(2).sum(1), s.mask.any(1).sum(1), aggregate.k)  # [B, C, K]
    R, at = s.x.shape[3], place.clamp(min=0)
    cells = interact.cells(_picked(u, at // R), _picked(v, at % R), aggregate.k)  # [B, C, K]
    return cells.masked_fill(place < 0, 0).flatten(1)


def _picked(u: Seq, place: Tensor) -> Seq:
    """The words at these places of each pair's own text: [B, C, K] -> Seq of B·C·K texts of one word."""
    pair = torch.arange(len(place), device=place.device)[:, None, None] % len(u.x)  # a left text may face several
    at = (pair * u.x.shape[1] + place).view(-1, 1)
    x = F.embedding(at, u.x.flatten(0, 1))  # [B·C·K, 1, D]
    return Seq(x, torch.ones_like(at, dtype=torch.bool), u.ids.flatten()[at])
