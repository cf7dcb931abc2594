"""A text as a binary tree: neighbours are joined, one pair after another, till one node is left."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class Trees:
    """Nodes are numbered: the words 0 .. L - 1, then L + k for what was joined in step k. Junk where there is none."""

    children: Tensor  # [B, L-1, 2] the numbers of the two nodes that were joined in each step
    height: Tensor  # [B, L-1] 1 above two words, and so on; 0 where a text has no step more
    order: Tensor  # [B, 2L-1] all nodes: words as they stand, then inner nodes right before left, parents last
    mask: Tensor  # [B, 2L-1]


def trees_of(joins: Tensor, lengths: Tensor) -> Trees:
    """The trees that come of joining, in step k, what stands at place joins[:, k] with what stands behind it.

    joins: [B, L-1], of which a text of n words has the first n - 1. The order of the inner nodes is that of Socher's
    matrices: a walk from the root that goes left before right, read from its end.
    """
    B, steps = joins.shape
    L = steps + 1
    place = torch.arange(2 * L - 1, device=joins.device)
    rows = torch.arange(B, device=joins.device)
    starts = place[:L].expand(B, L)  # the first words of all that is still to be joined
    # Of the node that begins there: its number, the end behind its last word, its height.
    nodes = torch.stack([place[:L], place[:L] + 1, torch.zeros_like(place[:L])], -1).repeat(B, 1, 1)  # [B, L, 3]
    children, made = [], []
    for k, at in enumerate(joins.unbind(1)):
        start, other = starts[rows, at], starts[rows, at + 1]
        a, b = nodes[rows, start], nodes[rows, other]  # [B, 3]
        node = torch.stack([torch.full_like(at, L + k), b[:, 1], torch.maximum(a[:, 2], b[:, 2]) + 1], -1)
        children.append(torch.stack([a[:, 0], b[:, 0]], -1))
        made.append(torch.cat([start[:, None], node], -1))
        nodes[rows, start] = node
        starts = without(starts, at + 1)
    inner = torch.stack(made, 1) if steps else nodes.new_zeros(B, 0, 4)  # [B, L-1, 4] start, number, end, height
    there = place[:steps] < lengths[:, None] - 1  # [B, L-1]
    # On the walk, a node comes before those that begin later, and before the shorter ones that begin where it does.
    walk = (inner[..., 0] * (L + 1) - inner[..., 2]).masked_fill(~there, -L - 2)
    back = F.pad(walk.argsort(1, descending=True), (0, 1))  # [B, L]
    order = L + back.gather(1, (place - lengths[:, None]).clamp(0, steps))  # [B, 2L-1]
    return Trees(
        torch.stack(children, 1) if steps else inner[..., :2],
        inner[..., 3].masked_fill(~there, 0),
        torch.where(place < lengths[:, None], place, order),
        place < 2 * lengths[:, None] - 1,
    )


def without(x: Tensor, at: Tensor) -> Tensor:
    """x[B, L, ...] with the entry at each row's own place taken out: [B, L-1, ...]."""
    place = torch.arange(x.shape[1] - 1, device=x.device)
    keep = place + (place >= at[:, None]).long()  # [B, L-1]
    return x[torch.arange(len(x), device=x.device)[:, None], keep]
