"""An autoencoder of trees: two nodes become one vector of the same size, from which all words below can be unfolded."""

import torch
from torch import Tensor, nn

from pairlight.parts import Seq
from pairlight.parts.tree import Trees, trees_of, without

# Pairs whose errors differ by less count as equal, and the first is joined: no rounding decides over a tree.
EQUAL = 1e-5


class TreeAutoencoder(nn.Module):
    """p = tanh(W [a ; b] + c) for two neighbours a, b, and back: [a' ; b'] = tanh(V p + d).   Seq -> Seq of all nodes

    The tree of a text is built by joining, again and again, the two neighbours that come back best from the vector
    they make: least |a - a'|² + |b - b'|². Its weights are no parameters: `error` trains them without labels, beforehand.
    """

    weight: Tensor
    bias: Tensor
    back_weight: Tensor
    back_bias: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        reach = (6 / (3 * dim)) ** 0.5
        self.register_buffer("weight", torch.empty(dim, 2 * dim).uniform_(-reach, reach))
        self.register_buffer("bias", torch.zeros(dim))
        self.register_buffer("back_weight", torch.empty(2 * dim, dim).uniform_(-reach, reach))
        self.register_buffer("back_bias", torch.zeros(2 * dim))

    def forward(self, u: Seq) -> Seq:
        trees = trees_of(self.joins(u), u.lengths)
        x, ids = self.nodes(u, trees), nn.functional.pad(u.ids, (0, u.ids.shape[1] - 1))
        rows = torch.arange(len(x), device=x.device)[:, None]
        return Seq(x[rows, trees.order], trees.mask, ids[rows, trees.order]).with_x(x[rows, trees.order])

    def join(self, pairs: Tensor) -> Tensor:
        return torch.tanh(nn.functional.linear(pairs, self.weight, self.bias))  # [..., D]

    def split(self, joined: Tensor) -> Tensor:
        return torch.tanh(nn.functional.linear(joined, self.back_weight, self.back_bias))  # [..., 2·D]

    @torch.no_grad()
    def joins(self, u: Seq) -> Tensor:
        """The place of the left one of the two neighbours that are joined in each step: [B, L-1]."""
        x, place = u.x, torch.arange(u.x.shape[1], device=u.x.device)
        rows = torch.arange(len(x), device=x.device)
        joined, error = self.tried(x[:, :-1], x[:, 1:])  # [B, L-1, D], [B, L-1]
        steps = []
        for k in range(x.shape[1] - 1):
            last = place[: error.shape[1]] >= (u.lengths - k - 1)[:, None]  # no word behind it
            error = error.masked_fill(last, torch.inf)
            best = error <= error.amin(1, keepdim=True) + EQUAL
            at = torch.where(best, place[: error.shape[1]], len(place)).amin(1)
            steps.append(at)
            x[rows, at] = joined[rows, at]
