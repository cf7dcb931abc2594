"""Vectors of word n-grams of several lengths, and their cosine similarities."""

import torch

from pairlight.layers.convolution import Conv
from pairlight.layers.interactions import Interaction, unit
from pairlight.layers.layer import Layer
from pairlight.layers.types import Grid, Seq, masked_grid, tile_left


class NgramConv(Layer):
    """g_t = [g_t^1 ; g_t^2 ; ..], the n-grams of 1, 2, .. words that start at word t.   Seq -> Seq

    g_t^n = relu(W^n [x_t ; .. ; x_t+n-1] + b^n), with zero vectors after the end of the text.
    """

    def __init__(self, dim: int, filters: int, grams: int) -> None:
        self.convs = [Conv(dim, filters, n + 1) for n in range(grams)]

    def forward(self, u: Seq) -> Seq:
        return u.with_x(torch.cat([conv(u).x.relu() for conv in self.convs], -1))


class NgramCosine(Interaction):
    """s_ij^ab = cosine of g_i^a and g_j^b, one channel for each pair of lengths, ordered by a, then b.   -> Grid"""

    def __init__(self, grams: int) -> None:
        self.grams, self.channels = grams, grams**2

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = tile_left(self.normalize(u), self.normalize(v))
        B, L, R, G = len(v.x), u.x.shape[1], v.x.shape[1], self.grams
        # All lengths next to each other: one matrix product for each pair of texts instead of one for each channel.
        s = u.x.view(B, L * G, -1) @ v.x.view(B, R * G, -1).mT
        return masked_grid(u, v, s.view(B, L, G, R, G).permute(0, 2, 4, 1, 3).flatten(1, 2))  # [B, G·G, L, R]

    def normalize(self, u: Seq) -> Seq:
        """Every n-gram vector with length 1."""
        return u.with_x(unit(u.x.view(*u.x.shape[:2], self.grams, -1)).flatten(2))
