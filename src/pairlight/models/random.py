"""Random: a pseudo-random score for each pair, the baseline that every model must beat."""

import torch

from pairlight.layers.settings import Seed
from pairlight.layers.types import Array, Tokens
from pairlight.models.base import PairModel

PRIME = 2**31 - 1


class Random(PairModel):
    """s = a pseudo-random number between 0 and 1 that depends only on the words of the pair and the seed.

    Settings:
      seed  seed of the scores
    """

    paper = "the papers' Random Guess"
    family = "lexical"
    takes_evidence = False

    def __init__(self, vocab: int, *, seed: Seed = 1) -> None:
        self.seed = seed

    def forward(self, left: Tokens, right: Tokens) -> Array:
        u, v = self.hash(left), self.hash(right)
        mixed = (u.repeat(len(v) // len(u)) * 48271 + v * 69621 + self.seed * 16807) % PRIME
        for _ in range(3):  # rounds of a Lehmer generator, so that similar inputs give unrelated scores
            mixed = mixed * 48271 % PRIME
        return mixed.double() / PRIME

    def hash(self, tokens: Tokens) -> Array:
        """One number per text, from its words and their order: [B]."""
        number = torch.zeros_like(tokens.ids[:, 0])
        for word, mask in zip(tokens.ids.unbind(1), tokens.mask.unbind(1), strict=True):
            number = torch.where(mask, (number * 69621 + word + 1) % PRIME, number)
        return number
