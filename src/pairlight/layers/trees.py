"""Binary parse trees of texts: two neighboring nodes are joined at a time, until one is left."""

from dataclasses import dataclass

from pairlight.layers.backends import array_namespace
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
    xp = array_namespace(joins)
    B, steps = joins.shape
    L = steps + 1
    position, rows = xp.arange(2 * L - 1, joins), xp.arange(B, joins)
    starts = xp.broadcast_to(position[:L], (B, L))  # the first word of each node that is not joined yet
    # For the node that starts at a word: its number, the position after its last word, its height.
    nodes = xp.tile(xp.stack([position[:L], position[:L] + 1, position[:L] * 0], -1)[None], B)
    children, made = [], []
    for k in range(steps):
        at = joins[:, k]
        start, other = starts[rows, at], starts[rows, at + 1]
        a, b = nodes[rows, start], nodes[rows, other]  # [B, 3]
        node = xp.stack([at * 0 + L + k, b[:, 1], xp.maximum(a[:, 2], b[:, 2]) + 1], -1)
        children.append(xp.stack([a[:, 0], b[:, 0]], -1))
        made.append(xp.cat([start[:, None], node], -1))
        nodes[rows, start] = node
        starts = delete_at(starts, at + 1)
    inner = xp.stack(made, 1) if steps else xp.zeros((B, 0, 4), nodes)  # [B, L-1, 4] start, number, end, height
    exists = position[:steps] < lengths[:, None] - 1  # [B, L-1]
    # The walk visits a node before those that start later, and before shorter ones that start at the same word.
    walk = xp.where(exists, inner[..., 0] * (L + 1) - inner[..., 2], -L - 2)
    reverse = xp.pad(xp.argsort(-walk), [(0, 1)])  # [B, L]
    order = L + xp.take_along_axis(reverse, xp.clip(position - lengths[:, None], 0, steps), 1)  # [B, 2L-1]
    return Trees(
        xp.stack(children, 1) if steps else inner[..., :2],
        xp.where(exists, inner[..., 3], 0),
        xp.where(position < lengths[:, None], position, order),
        position < 2 * lengths[:, None] - 1,
    )


def delete_at(x: Array, positions: Array) -> Array:
    """x[B, L, ...] without the entry at each row's position: [B, L-1, ...]."""
    xp = array_namespace(x)
    kept = xp.arange(x.shape[1] - 1, x)
    kept = kept + xp.cast(kept >= positions[:, None], kept)  # [B, L-1]
    return x[xp.arange(len(x), x)[:, None], kept]
