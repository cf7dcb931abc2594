"""The unfolding recursive autoencoder: a vector for every node of a text's tree."""

import torch
from torch.nn import functional as F

from pairlight.layers.layer import Layer, buffer
from pairlight.layers.tracing import note
from pairlight.layers.trees import Trees, build_trees
from pairlight.layers.types import Array, Seq

# Errors that differ by less count as equal, and the first pair is joined, so that rounding never decides about a tree.
TOLERANCE = 1e-5


class TreeAutoencoder(Layer):
    """p = tanh(W [a ; b] + c) for the children a, b of a node; decoded by [a' ; b'] = tanh(V p + d).   Seq -> Seq

    The output has one vector per node. The tree of a text without a parse is built greedily: the two neighbors with the
    smallest reconstruction error |a - a'|² + |b - b'|² are joined next. The weights are buffers, not parameters: they
    are trained without labels, before the model, by minimizing `reconstruction_error`.
    """

    encoder_weight: Array
    encoder_bias: Array
    decoder_weight: Array
    decoder_bias: Array

    def __init__(self, dim: int) -> None:
        bound = (6 / (3 * dim)) ** 0.5
        self.encoder_weight = torch.empty(dim, 2 * dim).uniform_(-bound, bound)
        self.encoder_bias = buffer(dim)
        self.decoder_weight = torch.empty(2 * dim, dim).uniform_(-bound, bound)
        self.decoder_bias = buffer(2 * dim)

    def forward(self, u: Seq, parse: Array | None = None) -> Seq:
        trees = self.trees(u, parse)
        note(self, trees)
        x, ids = self.node_vectors(u, trees), F.pad(u.ids, (0, u.ids.shape[1] - 1))
        rows = torch.arange(len(x), device=x.device)[:, None]
        x = x[rows, trees.order].masked_fill(~trees.mask[..., None], 0)  # [B, 2L-1, D]
        return Seq(x, trees.mask, ids[rows, trees.order])

    def encode(self, pairs: Array) -> Array:
        """The vector of a node from those of its children: [..., 2·D] -> [..., D]."""
        return torch.tanh(F.linear(pairs, self.encoder_weight, self.encoder_bias))

    def decode(self, nodes: Array) -> Array:
        """The children reconstructed from the vector of their node: [..., D] -> [..., 2·D]."""
        return torch.tanh(F.linear(nodes, self.decoder_weight, self.decoder_bias))

    def trees(self, u: Seq, parse: Array | None = None) -> Trees:
        """The tree of each text: from its parse, given as merge positions [B, L], or else greedy."""
        joins = self.greedy_joins(u)
        if parse is not None:
            joins = torch.where(parse[:, :1] >= 0, parse[:, :-1].clamp(min=0), joins)
        return build_trees(joins, u.lengths)

    @torch.no_grad()
    def greedy_joins(self, u: Seq) -> Array:
        """The position of the first of the two neighbors joined in each step: [B, L-1]."""
        B, L, D = u.x.shape
        # The nodes left in each text form a linked list with a sentinel at both ends, so that no vector is moved.
        position, row = torch.arange(L + 2, device=u.x.device), torch.arange(B, device=u.x.device)
        first, last = row[:, None] * (L + 2), u.lengths[:, None]
        after = (first + torch.where(position < last, position + 1, L + 1)).flatten()  # [B·(L+2)]
        before = (first + (position - 1).clamp(min=0)).flatten()
        sentinel = ((position == 0) | (position > last)).flatten()
        x = F.pad(u.with_x(u.x).x, (0, 0, 1, 1)).view(-1, D)
        joined, error = torch.empty_like(x), x.new_empty(len(x))
        rank = (position - 1).expand(B, -1)  # how many nodes precede each one in its text

        def try_join(node: Array) -> None:
            pairs = torch.cat([x[node], x[after[node]]], -1)
            new = self.encode(pairs)
            joined[node] = new
            loss = (pairs - self.decode(new)).square().sum(-1)
            error[node] = loss.masked_fill_(sentinel[node] | sentinel[after[node]], torch.inf)

        try_join(torch.arange(len(x), device=x.device))
        steps = []
        for _ in range(L - 1):
            smallest = error.view(B, -1).amin(1, keepdim=True)
            best = (error.view(B, -1) <= smallest + TOLERANCE).int().argmax(1)  # [B] the first of them
            steps.append(rank[row, best].clamp(min=0))
            at = first[:, 0] + best
            removed = after[at]
            x[at], error[removed] = joined[at], torch.inf
            after[at], before[after[removed]] = after[removed], at
            rank = rank - (position >= (removed - first[:, 0])[:, None]).long()
            try_join(torch.cat([before[at], at]))  # only the two pairs that contain the new node have changed
        return torch.stack(steps, 1) if steps else position.new_zeros(B, 0)

    def node_vectors(self, u: Seq, trees: Trees) -> Array:
        """The vector of every node, words first, then in the order of the steps: [B, 2L-1, D]."""
        B, L, D = u.x.shape
        x = F.pad(u.x, (0, 0, 0, L - 1)).flatten(0, 1)  # [B·(2L-1), D]
        children = _flat_numbers(trees.children, L)  # [B, L-1, 2]
        for height in range(1, int(trees.height.max()) + 1 if L > 1 else 1):
            row, step = (trees.height == height).nonzero(as_tuple=True)
            x[row * (2 * L - 1) + L + step] = self.encode(x[children[row, step]].flatten(1))
        return x.view(B, 2 * L - 1, D)

    def reconstruction_error(self, u: Seq, parse: Array | None = None) -> Array:
        """The sum of |x_t - x'_t|² over all inner nodes and the words x_t below them, x'_t decoded from the node."""
        trees = self.trees(u, parse)
        L = u.x.shape[1]
        x = self.node_vectors(u, trees).flatten(0, 1)  # [B·(2L-1), D]
        children = F.pad(_flat_numbers(trees.children, L), (0, 0, L, 0)).flatten(0, 1)  # [B·(2L-1), 2]
        row, step = trees.height.nonzero(as_tuple=True)
        node = row * (2 * L - 1) + L + step
        y, total = x[node], x.new_zeros(())
        while len(node):
            y = self.decode(y).view(-1, u.x.shape[-1])  # both children of every node
            node = children[node].flatten()
            word = node % (2 * L - 1) < L
            total = total + (y[word] - x[node[word]]).square().sum()
            node, y = node[~word], y[~word]
        return total


def _flat_numbers(nodes: Array, L: int) -> Array:
    """Node numbers within a text as node numbers within the batch."""
    return nodes + torch.arange(len(nodes), device=nodes.device)[:, None, None] * (2 * L - 1)
