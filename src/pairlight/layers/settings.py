"""The valid ranges of a model's settings, written as annotations of its keyword arguments.

def __init__(self, vocab: int, *, hidden: Size = 50, dropout: Fraction = 0.0) -> None:
"""

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Range:
    """minimum <= value <= maximum, or value < maximum if exclusive."""

    minimum: float
    maximum: float
    exclusive: bool = False

    def holds(self, value: float) -> bool:
        return self.minimum <= value and (value < self.maximum if self.exclusive else value <= self.maximum)

    def __str__(self) -> str:
        limit = f"below {self.maximum:g}" if self.exclusive else f"at most {self.maximum:.0f}"
        return f"at least {self.minimum:g} and {limit}"


Size = Annotated[int, Range(1, 10_000)]  # a matrix of two sizes fits into memory
Count = Annotated[int, Range(0, 10_000)]
Depth = Annotated[int, Range(1, 100)]  # of layers, or of windows of growing size
Seed = Annotated[int, Range(0, 2**31 - 1)]
NonNegative = Annotated[float, Range(0, 1e6)]
Fraction = Annotated[float, Range(0, 1, exclusive=True)]
