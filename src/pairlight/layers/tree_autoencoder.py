"""An autoencoder of trees: two nodes become one vector of the same size, from which all words below can be unfolded."""

import torch
from torch import Tensor
from torch.nn import functional as F

from pairlight.layers.layer import Layer, buffer
from pairlight.layers.trees import Trees, trees_of
from pairlight.layers.types import Seq

# Pairs whose errors differ by less count as equal, and the first is joined: no rounding decides over a tree.
EQUAL = 1e-5


class TreeAutoencoder(Layer):
    """p = tanh(W [a ; b] + c) for two neighbours a, b, and back: [a' ; b'] = tanh(V p + d).   Seq -> Seq of all nodes

    Where a text comes without a parse, its tree is built by joining, again and again, the two neighbours that come back
    best from the vector they make: least |a - a'|² + |b - b'|². The weights are no parameters of a model: they are
    trained beforehand and without labels, by making `error` small.
    """

    weight: Tensor
    bias: Tensor
    back_weight: Tensor
    back_bias: Tensor

    def __init__(self, dim: int) -> None:
        reach = (6 / (3 * dim)) ** 0.5
        self.weight = torch.empty(dim, 2 * dim).uniform_(-reach, reach)
        self.bias = buffer(dim)
        self.back_weight = torch.empty(2 * dim, dim).uniform_(-reach, reach)
        self.back_bias = buffer(2 * dim)

    def forward(self, u: Seq, parse: Tensor | None = None) -> Seq:
        trees = self.trees(u, parse)
        x, ids = self.nodes(u, trees), F.pad(u.ids, (0, u.ids.shape[1] - 1))
        rows = torch.arange(len(x), device=x.device)[:, None]
        x = x[rows, trees.order].masked_fill(~trees.mask[..., None], 0)  # [B, 2L-1, D]
        return Seq(x, trees.mask, ids[rows, trees.order])

    def join(self, pairs: Tensor) -> Tensor:
        return torch.tanh(F.linear(pairs, self.weight, self.bias))  # [..., D]

    def part(self, joined: Tensor) -> Tensor:
        return torch.tanh(F.linear(joined, self.back_weight, self.back_bias))  # [..., 2·D]

    @torch.no_grad()
    def joins(self, u: Seq) -> Tensor:
        """The place of the left one of the two neighbours that are joined in each step: [B, L-1]."""
        B, L, D = u.x.shape
        # What is still to be joined is a linked list in each text, with an end before and behind it: no vector moves.
        place, row = torch.arange(L + 2, device=u.x.device), torch.arange(B, device=u.x.device)
        first, last = row[:, None] * (L + 2), u.lengths[:, None]
        after = (first + torch.where(place < last, place + 1, L + 1)).flatten()  # [B·(L+2)]
        before = (first + (place - 1).clamp(min=0)).flatten()
        end = ((place == 0) | (place > last)).flatten()
        x = F.pad(u.with_x(u.x).x, (0, 0, 1, 1)).view(-1, D)
        joined, error = torch.empty_like(x), x.new_empty(len(x))
        rank = (place - 1).expand(B, -1)  # how many stand before each in its text

        def attempt(node: Tensor) -> None:
            pairs = torch.cat([x[node], x[after[node]]], -1)
            new = self.join(pairs)
            joined[node] = new
            lost = (pairs - self.part(new)).square().sum(-1)
            error[node] = lost.masked_fill_(end[node] | end[after[node]], torch.inf)

        attempt(torch.arange(len(x), device=x.device))
        steps = []
        for _ in range(L - 1):
            least = error.view(B, -1).amin(1, keepdim=True)
            best = (error.view(B, -1) <= least + EQUAL).int().argmax(1)  # [B] the first of them
            steps.append(rank[row, best].clamp(min=0))
            at = first[:, 0] + best
            gone = after[at]
            x[at], error[gone] = joined[at], torch.inf
            after[at], before[after[gone]] = after[gone], at
            rank = rank - (place >= (gone - first[:, 0])[:, None]).long()
            attempt(torch.cat([before[at], at]))  # only the pairs on either side of the new node are new
        return torch.stack(steps, 1) if steps else place.new_zeros(B, 0)

    def nodes(self, u: Seq, trees: Trees) -> Tensor:
        """The vector of every node, words first, then in the order of the steps: [B, 2L-1, D]."""
        B, L, D = u.x.shape
        x = F.pad(u.x, (0, 0, 0, L - 1)).flatten(0, 1)  # [B·(2L-1), D]
        children = _flat(trees.children, L)  # [B, L-1, 2]
        for height in range(1, int(trees.height.max()) + 1 if L > 1 else 1):
            row, step = (trees.height == height).nonzero(as_tuple=True)
            x[row * (2 * L - 1) + L + step] = self.join(x[children[row, step]].flatten(1))
        return x.view(B, 2 * L - 1, D)

    def trees(self, u: Seq, parse: Tensor | None = None) -> Trees:
        """The tree of each text: by its parse, the join places [B, L], where it has one, else built greedily."""
        joins = self.joins(u)
        if parse is not None:
            joins = torch.where(parse[:, :1] >= 0, parse[:, :-1].clamp(min=0), joins)
        return trees_of(joins, u.lengths)

    def error(self, u: Seq, parse: Tensor | None = None) -> Tensor:
        """How far the words of every subtree are from those that its vector is unfolded to: sum of |x_t - x'_t|²."""
        trees = self.trees(u, parse)
        L = u.x.shape[1]
        x = self.nodes(u, trees).flatten(0, 1)  # [B·(2L-1), D]
        children = F.pad(_flat(trees.children, L), (0, 0, L, 0)).flatten(0, 1)  # [B·(2L-1), 2]
        row, step = trees.height.nonzero(as_tuple=True)
        node = row * (2 * L - 1) + L + step
        y, total = x[node], x.new_zeros(())
        while len(node):
            y = self.part(y).view(-1, u.x.shape[-1])  # both children of every node
            node = children[node].flatten()
            word = node % (2 * L - 1) < L
            total = total + (y[word] - x[node[word]]).square().sum()
            node, y = node[~word], y[~word]
        return total


def _flat(nodes: Tensor, L: int) -> Tensor:
    """Numbers of nodes in a text, as numbers among the nodes of all texts."""
    return nodes + torch.arange(len(nodes), device=nodes.device)[:, None, None] * (2 * L - 1)
