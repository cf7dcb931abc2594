"""The types passed between the stages of a model: arrays that always carry their mask.

Letters for shapes: B pairs (or texts) in a batch, C channels, L words of the left text (or of the only one), R words of
the right text, D the size of a vector, K the number of values kept.

A batch may pair each left text with several right texts. With n times as many right texts as left ones, right text r
belongs to left text r mod B. Layers that combine both texts first repeat the left ones with `tile_left`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from pairlight.layers.backends import array_namespace

if TYPE_CHECKING:
    from torch import Tensor

    Array: TypeAlias = Tensor
else:
    Array = Any  # a torch.Tensor, or a NumPy array if the model runs without PyTorch


@dataclass(frozen=True)
class Tokens:
    """Texts as ids. Out-of-vocabulary words have ids beyond the vocabulary, so that identical ones still match."""

    ids: Array  # [B, L] int64
    mask: Array  # [B, L] bool, true where there is a word
    ngrams: Array | None = None  # [U, P] the character n-grams of the word with id u, padded with 0
    joins: Array | None = None  # [B, L] merge positions of parse trees, -1 for a text without one
    subwords: "Tokens | None" = None  # the same texts as subwords, where the model has evidence
    oov_ids: Array | None = None  # [U] ids of out-of-vocabulary words that have vectors, ascending
    oov_vectors: Array | None = None  # [U, D]

    @property
    def lengths(self) -> Array:
        return self.mask.sum(1)  # [B]


@dataclass(frozen=True)
class Seq:
    """One vector per position of each text."""

    x: Array  # [B, L, D], zero under padding
    mask: Array  # [B, L]
    ids: Array  # [B, L] word ids, for exact matches; arbitrary under padding

    @property
    def lengths(self) -> Array:
        return self.mask.sum(1)  # [B]

    def with_x(self, x: Array) -> "Seq":
        """The same positions with other vectors, zero under padding."""
        return Seq(array_namespace(x).where(self.mask[..., None], x, 0), self.mask, self.ids)

    def tile(self, times: int) -> "Seq":
        xp = array_namespace(self.x)
        return Seq(xp.tile(self.x, times), xp.tile(self.mask, times), xp.tile(self.ids, times))


class LookedUpSeq(Seq):
    """A sequence whose vectors occur several times: x = rows[at], which is made when it is first read.

    A layer that needs only products of the vectors computes them for the rows.
    """

    rows: Array  # [U, D]
    at: Array  # [B, L]

    def __init__(self, rows: Array, at: Array, mask: Array, ids: Array) -> None:
        self.__dict__.update(rows=rows, at=at, mask=mask, ids=ids)

    @cached_property
    def x(self) -> Array:
        return array_namespace(self.rows).rows(self.rows, self.at)


@dataclass(frozen=True)
class EncodedText:
    """The encoding of texts by a model, and the texts as subwords for its evidence."""

    own: "Seq | Array"
    subwords: Tokens


@dataclass(frozen=True)
class Grid:
    """One value per pair of positions and channel."""

    x: Array  # [B, C, L, R], zero under padding
    mask: Array  # [B, L, R]


def tile_left(u: Seq, v: Seq) -> tuple[Seq, Seq]:
    """Repeat the left sequences so that there is one for each right sequence."""
    times = len(v.x) // len(u.x)
    return (u if times == 1 else u.tile(times)), v


def tile_left_vectors(u: Array, v: Array) -> tuple[Array, Array]:
    """Like `tile_left`, with one vector per text."""
    times = len(v) // len(u)
    return (u if times == 1 else array_namespace(u).tile(u, times)), v


def masked_grid(u: Seq, v: Seq, x: Array) -> Grid:
    """A grid of these values, zero wherever either text has padding."""
    mask = u.mask[:, :, None] & v.mask[:, None, :]  # [B, L, R]
    return Grid(array_namespace(x).where(mask[:, None], x, 0), mask)
