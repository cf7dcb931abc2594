"""Scores one left text with stored right texts in one pass over them, without building batches of their encodings."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pairlight.kernels.native.head import Head
from pairlight.kernels.native.pair_features import WordTable
from pairlight.kernels.native.stored_kmax import StoredRows, stored_kmax
from pairlight.kernels.native.stored_words import StoredWords, WordScorer, text_products
from pairlight.layers.backends import array_namespace
from pairlight.layers.interactions import EPSILON, Product
from pairlight.layers.types import EncodedText, Seq, Tokens

Scores = NDArray[np.float32]
LEFT_OUT = np.finfo(np.float32).min  # the score of a text that is known not to be among the best
LARGE = 4096  # texts from which leaving some out saves more than choosing them costs
FIRST = 64  # texts that are scored before any is left out


@dataclass(frozen=True)
class Stored:
    """Stored right texts: one row per position, and one word id per position of the texts as subwords."""

    rows: StoredRows
    words: StoredWords | None


class StoredScorer(Protocol):
    """How a model scores stored texts."""

    parts: int  # of a row, whose lengths its products are divided by; 0 if they are not

    def products(self, ids: NDArray[np.int32], start: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """What the model stores for each text besides its words, where it reads words from a table."""
        ...

    def scores(self, u: Any, stored: Stored, top: int | None = None) -> Scores:
        """The scores of one left text with all stored ones; LEFT_OUT for some not among the best `top`."""
        ...


class KMaxScorer:
    """The score of the k largest cells of an interaction that is a product."""

    def __init__(self, interact: Product, k: int, head: Head) -> None:
        self.interact, self.k, self.head, self.parts = interact, k, head, interact.unit_parts

    def products(self, ids: NDArray[np.int32], start: NDArray[np.int64]) -> NDArray[np.float32] | None:
        return None

    def scores(self, u: Seq, stored: Stored, top: int | None = None) -> Scores:
        return self.added(u, stored, None, top)

    def added(self, u: Seq, stored: Stored, base: Scores | None, top: int | None = None) -> Scores:
        """The scores plus a number for each text, which bounds them."""
        to_numpy = array_namespace(u.x).to_numpy
        factors = self.interact.factors(u, u)  # those of the right text are in the stored rows
        own = to_numpy(factors.u)  # [1, L, C, D]
        offset = None if factors.offset is None else to_numpy(factors.offset)
        if self.parts > 1:  # each channel is compared with a part of its own
            own = own.transpose(2, 1, 0, 3)

        def some(texts: NDArray[np.int64] | None) -> Scores:
            plus = base if texts is None or base is None else base[texts]
            return stored_kmax(
                stored.rows, own, self.k, self.head, offset=offset, relu=factors.relu, base=plus, texts=texts
            )

        if base is None or top is None:
            return some(None)
        most = np.float32(self._most(own, offset, factors.relu, stored.rows))
        return best_scores(base + most, some, top)

    def _most(self, u: Any, offset: Any, relu: bool, rows: StoredRows) -> float:
        """A number that no score exceeds: no product is larger than that of the lengths of its factors."""
        reach = np.sqrt((u.astype(np.float64) ** 2).sum(-1)) * (1 if self.parts else rows.reach) * (1 + 1e-5)
        plus = 0 if offset is None else offset
        high = (reach + plus).max(1).clip(0).ravel()  # [P·C]; a cell that does not exist is 0
        low = np.zeros_like(high) if relu else (plus - reach).min(1).clip(None, 0).ravel()
        return self.head.bound(np.repeat(low, self.k), np.repeat(high, self.k))


class WordsScorer:
    """The score of the features of two texts whose subwords are rows of a table, which has those of a text."""

    parts = 0

    def __init__(self, table: Callable[[Tokens], WordTable], average_length: float, k: int, head: Head) -> None:
        self.table, self.average_length, self.k, self.head = table, average_length, k, head

    def products(self, ids: NDArray[np.int32], start: NDArray[np.int64]) -> NDArray[np.float32] | None:
        return text_products(self.table(_as_text(np.unique(ids))), ids, start)

    def scores(self, u: Seq, stored: Stored, top: int | None = None) -> Scores:
        # No text is left out: to bound a score takes most of what the score takes.
        to_numpy = array_namespace(u.ids).to_numpy
        return self.of_words(to_numpy(u.ids)[0, to_numpy(u.mask)[0]], stored)

    def of_words(self, left_ids: NDArray[np.int64], stored: Stored) -> Scores:
        words = stored.words
        if words is None:
            raise TypeError("There are no words.")
        table = self.table(_as_text(np.concatenate([words.distinct, left_ids])))
        return WordScorer(table, left_ids, words, self.average_length, self.k, self.head).scores()


def _as_text(ids: Any) -> Tokens:
    """Subwords as one text."""
    mask: Any = np.ones((1, len(ids)), np.bool_)
    return Tokens(ids[None], mask)


class SumScorer:
    """The score of a model's own encodings, times a factor, plus that of the words."""

    def __init__(self, own: KMaxScorer, words: WordsScorer, factor: float) -> None:
        self.own = KMaxScorer(own.interact, own.k, own.head.scaled(factor))
        self.words, self.parts = words, own.parts

    def products(self, ids: NDArray[np.int32], start: NDArray[np.int64]) -> NDArray[np.float32] | None:
        return self.words.products(ids, start)

    def scores(self, u: EncodedText, stored: Stored, top: int | None = None) -> Scores:
        if not isinstance(u.own, Seq):
            raise TypeError("The k largest cells are those of two sequences.")
        to_numpy = array_namespace(u.subwords.ids).to_numpy
        left_ids = to_numpy(u.subwords.ids)[0, to_numpy(u.subwords.mask)[0]]
        return self.own.added(u.own, stored, self.words.of_words(left_ids, stored), top)


def best_scores(bounds: Scores, score: Callable[[NDArray[np.int64] | None], Scores], top: int) -> Scores:
    """The scores of all texts that could be among the best `top`, and LEFT_OUT for those whose bounds are too low.

    The texts with the highest bounds are scored first. Then no text is scored whose bound is lower than `top` scores.
    """
    first = max(2 * top, FIRST)
    if len(bounds) < max(LARGE, 4 * first):
        return score(None)
    order = np.argpartition(-bounds, first)[:first]
    scores = np.full(len(bounds), LEFT_OUT, np.float32)
    scores[order] = score(order)
    reached = np.partition(scores[order], -top)[-top]
    rest = ~(bounds < reached)  # NaN is not left out
    rest[order] = False
    rest = np.flatnonzero(rest)
    scores[rest] = score(rest)
    return scores


def unit_factors(x: NDArray[np.float32], parts: int, scale: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    """What the products with a row are multiplied by: 1 / the length of each part, times the scale.   -> [rows, P]"""
    if not parts:
        return None
    lengths = np.sqrt((x.reshape(len(x), parts, -1) ** 2).sum(-1))
    one = np.ones(1, np.float32) if scale is None else scale[:, None]
    return np.asarray(one / np.maximum(lengths, EPSILON), np.float32)
