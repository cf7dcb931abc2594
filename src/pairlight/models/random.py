"""Random: a pseudo-random score for each pair, the baseline that every model must beat."""

from pairlight.layers.backends import array_namespace
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
        xp = array_namespace(u)
        mixed = (xp.tile(u, len(v) // len(u)) * 48271 + v * 69621 + self.seed * 16807) % PRIME
        for _ in range(3):  # rounds of a Lehmer generator, so that similar inputs give unrelated scores
            mixed = mixed * 48271 % PRIME
        return xp.double(mixed) / PRIME

    def hash(self, tokens: Tokens) -> Array:
        """One number per text, from its words and their order: [B]."""
        number: Array = tokens.ids[:, 0] * 0
        for t in range(tokens.ids.shape[1]):
            following = (number * 69621 + tokens.ids[:, t] + 1) % PRIME
            number = array_namespace(number).where(tokens.mask[:, t], following, number)
        return number
