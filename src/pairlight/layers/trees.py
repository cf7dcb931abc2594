"""Binary parse trees of texts: two neighboring nodes are joined at a time, until one is left."""

from dataclasses import dataclass

import torch
from torch.nn import functional as F

from pairlight.layers.types import Array


@dataclass(frozen=True)
class Trees:
    """Node 0 .. L - 1 are the words, node L + k is what step k joined. Entries beyond a text's own are arbitrary."""

    children: Array  # [B, L-1, 2] the two nodes joined in each step
    height: Array  # [B, L-1] 1 above two words, and so on; 0 for steps that a text does not have
    order: Array  # [B, 2L-1] all nodes: words in order, then inner nodes, second child before first, the root last
    mask: Array  # [B, 2L-1]


def build_trees(joins: Array, lengths: Array) -> Trees:
    """The trees obtained by joining, in step k, the nodes at positions joins[:, k] and joins[:, k] + 1.

    joins: [B, L-1], of which a text of n words uses the first n - 1. Inner nodes are ordered as in the matrices of
    Socher et al.: a walk from the root, first child before second, in reverse.
    """
    B, steps = joins.shape
    L = steps + 1
    position = torch.arange(2 * L - 1, device=joins.device)
    rows = torch.arange(B, device=joins.device)
    starts = position[:L].expand(B, L)  # the first word of each node that is not joined yet
    # For the node that starts at a word: its number, the position after its last word, its height.
    nodes = torch.stack([position[:L], position[:L] + 1, torch.zeros_like(position[:L])], -1).repeat(B, 1, 1)
    children, made = [], []
    for k, at in enumerate(joins.unbind(1)):
        start, other = starts[rows, at], starts[rows, at + 1]
        a, b = nodes[rows, start], nodes[rows, other]  # [B, 3]
        node = torch.stack([torch.full_like(at, L + k), b[:, 1], torch.maximum(a[:, 2], b[:, 2]) + 1], -1)
        children.append(torch.stack([a[:, 0], b[:, 0]], -1))
        made.append(torch.cat([start[:, None], node], -1))
        nodes[rows, start] = node
        starts = delete_at(starts, at + 1)
    inner = torch.stack(made, 1) if steps else nodes.new_zeros(B, 0, 4)  # [B, L-1, 4] start, number, end, height
    exists = position[:steps] < lengths[:, None] - 1  # [B, L-1]
    # The walk visits a node before those that start later, and before shorter ones that start at the same word.
    walk = (inner[..., 0] * (L + 1) - inner[..., 2]).masked_fill(~exists, -L - 2)
    reverse = F.pad(walk.argsort(1, descending=True), (0, 1))  # [B, L]
    order = L + reverse.gather(1, (position - lengths[:, None]).clamp(0, steps))  # [B, 2L-1]
    return Trees(
        torch.stack(children, 1) if steps else inner[..., :2],
        inner[..., 3].masked_fill(~exists, 0),
        torch.where(position < lengths[:, None], position, order),
        position < 2 * lengths[:, None] - 1,
    )


def delete_at(x: Array, positions: Array) -> Array:
    """x[B, L, ...] without the entry at each row's position: [B, L-1, ...]."""
    kept = torch.arange(x.shape[1] - 1, device=x.device)
    kept = kept + (kept >= positions[:, None]).long()  # [B, L-1]
    return x[torch.arange(len(x), device=x.device)[:, None], kept]
