"""Random: a number drawn for each pair, the floor that every model must beat."""

import torch
from torch import Tensor

from pairlight.layers.settings import Seed
from pairlight.layers.types import Tokens
from pairlight.models.base import PairModel

PRIME = 2**31 - 1


class Random(PairModel):
    """s = a number between 0 and 1 that depends on the words of the pair and the seed alone.

    Settings:
      seed  another seed gives other numbers
    """

    paper = "the papers' Random Guess"
    family = "lexical"

    def __init__(self, vocab: int, *, seed: Seed = 1) -> None:
        self.seed = seed

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        u, v = self.digest(left), self.digest(right)
        mixed = (u.repeat(len(v) // len(u)) * 48271 + v * 69621 + self.seed * 16807) % PRIME
        for _ in range(3):  # a few rounds of a Lehmer generator take the last trace of the input's order away
            mixed = mixed * 48271 % PRIME
        return mixed.double() / PRIME

    def digest(self, tokens: Tokens) -> Tensor:
        """One number for each text, out of its words in their order."""
        number = torch.zeros_like(tokens.ids[:, 0])
        for word, there in zip(tokens.ids.unbind(1), tokens.mask.unbind(1), strict=True):
            number = torch.where(there, (number * 69621 + word + 1) % PRIME, number)
        return number
