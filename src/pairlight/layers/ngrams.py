"""Phrases of every length up to a few words become vectors that can all be compared."""

import torch

from pairlight.layers.convolution import Conv
from pairlight.layers.interactions import Interaction, unit
from pairlight.layers.layer import Layer
from pairlight.layers.types import Grid, Seq, masked_grid, tile_left


class Grams(Layer):
    """g_t = [g_t^1 ; g_t^2 ; ..], the phrases that begin at t.   Seq -> Seq

    g_t^h = relu(W^h [x_t ; .. ; x_t+h-1] + b^h), zero vectors standing behind the end.
    """

    def __init__(self, dim: int, filters: int, grams: int) -> None:
        self.lengths = list(Conv(dim, filters, h + 1) for h in range(grams))

    def forward(self, u: Seq) -> Seq:
        return u.with_x(torch.cat([conv(u).x.relu() for conv in self.lengths], -1))


class GramCosine(Interaction):
    """s_ij^ab = cosine of g_i^a and g_j^b, a channel for each pair of lengths, b running faster.   Seq, Seq -> Grid"""

    def __init__(self, grams: int) -> None:
        self.grams, self.channels = grams, grams**2

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = tile_left(self.units(u), self.units(v))
        B, L, R, G = len(v.x), u.x.shape[1], v.x.shape[1], self.grams
        # Phrases of all lengths beside each other: one product a pair, not one a channel.
        s = u.x.view(B, L * G, -1) @ v.x.view(B, R * G, -1).mT
        return masked_grid(u, v, s.view(B, L, G, R, G).permute(0, 2, 4, 1, 3).flatten(1, 2))  # [B, G·G, L, R]

    def units(self, u: Seq) -> Seq:
        return u.with_x(unit(u.x.view(*u.x.shape[:2], self.grams, -1)).flatten(2))
