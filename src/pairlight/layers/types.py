"""What travels between the stages of a model: arrays that always carry their mask.

Shapes use the same letters everywhere: B pairs (or texts) in a batch, C channels, L words on the left (or of one
text), R words on the right, D the size of a vector, K how many values are kept.

A batch may pair each left text with several right texts: with n times as many right texts as left ones, right row r
belongs to left row r mod B. `tile_left` repeats the left texts to match; every layer that combines both sides starts
with it.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from pairlight.layers.backends import array_namespace

if TYPE_CHECKING:
    from torch import Tensor as Array
else:
    Array = Any  # a torch.Tensor, or a NumPy array where the model runs without PyTorch


@dataclass(frozen=True)
class Tokens:
    """Texts as ids. An id beyond the vocabulary is an out-of-vocabulary word that keeps its identity."""

    ids: Array  # [B, L] int64
    mask: Array  # [B, L] bool, true where there is a word
    ngrams: Array | None = None  # [U, P] the character n-grams of word number u, 0 where there is none
    joins: Array | None = None  # [B, L] the merge positions of a text's parse tree, -1 where it has none

    @property
    def lengths(self) -> Array:
        return self.mask.sum(1)  # [B]


@dataclass(frozen=True)
class Seq:
    """A vector for every word."""

    x: Array  # [B, L, D], zero under padding
    mask: Array  # [B, L]
    ids: Array  # [B, L] which words these are, for exact matches; arbitrary under padding

    @property
    def lengths(self) -> Array:
        return self.mask.sum(1)  # [B]

    def with_x(self, x: Array) -> Self:
        """The same words with other vectors, zero under padding."""
        return replace(self, x=array_namespace(x).where(self.mask[..., None], x, 0))

    def tile(self, times: int) -> Self:
        xp = array_namespace(self.x)
        return replace(self, x=xp.tile(self.x, times), mask=xp.tile(self.mask, times), ids=xp.tile(self.ids, times))


@dataclass(frozen=True)
class Grid:
    """A value for every pair of words and every channel."""

    x: Array  # [B, C, L, R], zero under padding
    mask: Array  # [B, L, R]


def tile_left(u: Seq, v: Seq) -> tuple[Seq, Seq]:
    """Repeat the left sequences until there is one for each right one."""
    times = len(v.x) // len(u.x)
    return (u if times == 1 else u.tile(times)), v


def tile_left_vectors(u: Array, v: Array) -> tuple[Array, Array]:
    """The same for one vector per text."""
    times = len(v) // len(u)
    return (u if times == 1 else array_namespace(u).tile(u, times)), v


def masked_grid(u: Seq, v: Seq, x: Array) -> Grid:
    """Values of all pairs of positions, set to zero outside both texts."""
    mask = u.mask[:, :, None] & v.mask[:, None, :]  # [B, L, R]
    return Grid(array_namespace(x).where(mask[:, None], x, 0), mask)
