"""Random sequences with poisoned padding, and a trace that records calls, for tests of layers."""

from typing import Any

import torch

from pairlight.layers.layer import Layer
from pairlight.layers.types import Seq

DIM = 3


def seq(lengths: list[int], poison: float = 0.0, extra: int = 0, seed: int = 3, dim: int = DIM) -> Seq:
    """The same random texts whatever the poison and the number of extra positions under padding."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.full((len(lengths), max(lengths) + extra, dim), poison, dtype=torch.float64)
    mask = torch.zeros(x.shape[:2], dtype=torch.bool)
    for row, n in enumerate(lengths):
        x[row, :n] = torch.randn(n, dim, generator=generator, dtype=torch.float64)
        mask[row, :n] = True
    return Seq(x, mask, torch.ones_like(mask, dtype=torch.int64))


class Recorder:
    """A trace that records the outputs of some layers."""

    def __init__(self, *layers: Layer) -> None:
        self.layers = layers
        self.outputs: list[Any] = []
        self.notes: list[Any] = []

    def watches(self, layer: Layer) -> bool:
        return layer in self.layers

    def call(self, layer: Layer, args: tuple[Any, ...]) -> Any:
        self.outputs.append(layer.forward(*args))
        return self.outputs[-1]

    def note(self, layer: Layer, value: Any) -> None:
        self.notes.append(value)
