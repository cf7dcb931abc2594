"""What travels between the stages of a model: tensors that never leave their mask behind.

Shapes are written with the same letters everywhere:
B pairs (or texts) in a batch, C channels, L words on the left (or of one text), R words on the right,
D the size of a vector, K how many are kept.

One left text may face several right texts: where there are n times as many rights as lefts, right row r
faces left row r mod B. `facing` lines them up; a stage that brings two sides together begins with it.
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class Tokens:
    """Texts as numbers. A number beyond the vocabulary is an unknown word that keeps its identity."""

    ids: Tensor  # [B, L] int64
    mask: Tensor  # [B, L] bool, true where there is a word
    letters: Tensor | None = None  # [U, P] the pieces word number u is spelt with, 0 where none
    joins: Tensor | None = None  # [B, L] the join places of a text's parse, -1 where it came without one

    @property
    def lengths(self) -> Tensor:
        return self.mask.sum(1)  # [B]


@dataclass(frozen=True)
class Seq:
    """A vector for every word."""

    x: Tensor  # [B, L, D], zero behind the end of a text
    mask: Tensor  # [B, L]
    ids: Tensor  # [B, L] which words these are, for exact match; junk where there is no word

    @property
    def lengths(self) -> Tensor:
        return self.mask.sum(1)  # [B]

    def with_x(self, x: Tensor) -> Self:
        """The same words with other vectors, silent behind the end of each text."""
        return replace(self, x=torch.where(self.mask[..., None], x, 0))

    def repeat(self, times: int) -> Self:
        return replace(
            self, x=self.x.repeat(times, 1, 1), mask=self.mask.repeat(times, 1), ids=self.ids.repeat(times, 1)
        )


@dataclass(frozen=True)
class Grid:
    """A value for every pair of words and every channel."""

    x: Tensor  # [B, C, L, R], zero where there is no pair of words
    mask: Tensor  # [B, L, R]


def facing(u: Seq, v: Seq) -> tuple[Seq, Seq]:
    """Repeat the left sequences until there is one for each right one."""
    times = len(v.x) // len(u.x)
    return (u if times == 1 else u.repeat(times)), v


def facing_vectors(u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """The same for one vector a text."""
    times = len(v) // len(u)
    return (u if times == 1 else u.repeat(times, 1)), v


def grid_of(u: Seq, v: Seq, x: Tensor) -> Grid:
    """Values of all pairs of positions with the cells outside both texts silenced."""
    mask = u.mask[:, :, None] & v.mask[:, None, :]  # [B, L, R]
    return Grid(torch.where(mask[:, None], x, 0), mask)


def tokens_of(ids: object, mask: object, letters: Tensor | None = None) -> Tokens:
    """Tokens out of NumPy arrays or lists."""
    return Tokens(torch.as_tensor(ids), torch.as_tensor(mask), letters)
