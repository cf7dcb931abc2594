"""Scores one left text with stored right texts whose words are rows of a table, by `pair_features`, on NumPy arrays."""

import ctypes
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.kernels.native import check, library
from pairlight.kernels.native.buffers import Array, address, aligned, contiguous, numbers, pointers
from pairlight.kernels.native.head import Head, HeadFields, packed
from pairlight.kernels.native.library import UNKNOWN_WORD
from pairlight.kernels.native.pair_features import (
    EPSILON,
    K1,
    NUMBERS,
    PADDING,
    B,
    TextPairs,
    WordTable,
    pair_features_reference,
)

_FACTS = 8  # numbers about a word, besides its cells
_LANES = 16  # cells of a word are padded to the widest vector
_CHUNK = 2**14  # words whose vectors are in memory at a time


class StoredWords(NamedTuple):
    """Right texts as words: text t is the words start[t] to start[t+1]."""

    ids: NDArray[np.int32]  # [N]
    start: NDArray[np.int64]  # [T+1]
    distinct: NDArray[np.int32]  # the ids that occur
    products: NDArray[np.float32]  # [T,3] see `text_products`


class _Cells(ctypes.Structure):
    """The same fields in the same order as `WordCells` in csrc/stored_words.hpp."""

    _fields_ = (
        *pointers("units", "norms", "weights", "left", "left_ids", "distinct"),
        *numbers("vocabulary", "weighted", "dim", "words", "count", "stride", "threads"),
        *pointers("cells", "facts"),
    )


class _Texts(ctypes.Structure):
    """The same fields in the same order as `StoredWords` in csrc/stored_words.hpp."""

    _fields_ = (
        *pointers("cells", "facts", "left_ids", "left_weights", "ids", "start", "products", "texts"),
        *numbers("vocabulary", "words", "tokens", "count", "stride", "k", "threads"),
        ("fixed", ctypes.c_double),
        ("by_word", ctypes.c_double),
        ("head", HeadFields),
        *pointers("scores"),
    )


def text_products(words: WordTable, ids: NDArray[np.int32], start: NDArray[np.int64]) -> NDArray[np.float32]:
    """What depends on a right text alone: the lengths of its sum and its weighted sum, and the sum of its weights."""
    found = np.zeros((len(start) - 1, 3), np.float32)
    if len(ids) and not 0 <= ids.min() <= ids.max() < len(words.units):
        raise InputError(UNKNOWN_WORD)
    text = 0
    while text < len(found):
        end = max(text + 1, int(np.searchsorted(start, start[text] + _CHUNK, "right")) - 1)
        own = ids[start[text] : start[end]]
        x = words.units[own] * words.norms[own, None]
        weights = words.weights[np.where(own < len(words.weights), own, PADDING)]
        at = np.repeat(np.arange(end - text), np.diff(start[text : end + 1]))
        # A product with a sparse matrix, whose rows are texts.
        sums = np.zeros((2, end - text, x.shape[1]), np.float32)
        np.add.at(sums[0], at, x)
        np.add.at(sums[1], at, x * weights[:, None])
        found[text:end, :2] = np.maximum(np.sqrt((sums**2).sum(-1)), EPSILON).T
        found[text:end, 2] = np.bincount(at, weights, end - text)
        text = end
    return found


class WordScorer:
    """The scores of one left text with stored texts, for which the cells of their words are computed once."""

    def __init__(
        self,
        table: WordTable,
        left_ids: NDArray[np.int64],
        stored: StoredWords,
        average_length: float,
        k: int,
        head: Head,
    ) -> None:
        left_ids = check.integers("left_ids", left_ids)
        check.dimensions("left_ids", left_ids, "L")
        check.floating(float32=np.zeros(0, np.float32), **table._asdict())
        head.check(NUMBERS + k)
        for ids in (left_ids, stored.distinct):
            if len(ids) and not 0 <= ids.min() <= ids.max() < len(table.units):
                raise InputError(UNKNOWN_WORD)
        check.shape("products", stored.products, len(stored.start) - 1, 3)
        self.table, self.left_ids, self.stored = WordTable(*map(contiguous, table)), left_ids, stored
        self.average_length, self.k, self.head = average_length, k, head
        self.left_weights = table.weights[np.where(left_ids < len(table.weights), left_ids, PADDING)]
        self.native = library.native(np.float32)

    def scores(self, texts: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """The scores of all texts, or of some."""
        return self._run(texts) if self.native else self._reference(texts)

    @cached_property
    def _cells(self) -> tuple[Array, Array]:
        """The cosines of all left words with every distinct right word, and facts about it, by its id."""
        table, native = self.table, self.native
        if native is None:
            raise TypeError("The reference implementation has no cells.")
        vocabulary, dim = table.units.shape
        x = table.units[self.left_ids]
        sums = np.stack([table.norms[self.left_ids], self.left_weights * table.norms[self.left_ids]]) @ x
        sums /= np.maximum(np.sqrt((sums**2).sum(1, keepdims=True)), EPSILON)
        left = np.ascontiguousarray(np.concatenate([x, sums]))
        stride = -(-max(len(x), 1) // _LANES) * _LANES
        cells, facts = aligned(vocabulary, stride), aligned(vocabulary, _FACTS)
        distinct = contiguous(self.stored.distinct)
        arrays = *table, left, self.left_ids, distinct
        call = _Cells(
            *map(address, arrays),
            vocabulary=vocabulary,
            weighted=len(table.weights),
            dim=dim,
            words=len(x),
            count=len(distinct),
            stride=stride,
            threads=library.threads(),
            cells=address(cells),
            facts=address(facts),
        )
        native.run("word_cells", np.float32, call)
        return cells, facts

    def _run(self, texts: NDArray[np.int64] | None) -> NDArray[np.float32]:
        stored, native = self.stored, self.native
        if native is None:
            raise TypeError("There are no native kernels.")
        cells, facts = self._cells
        texts = None if texts is None else check.integers("texts", texts)
        if texts is not None and len(texts):
            check.length_range("texts", int(texts.min()), int(texts.max()), len(stored.start) - 2)
        scores = np.empty(len(stored.start) - 1 if texts is None else len(texts), np.float32)
        fields, kept = packed(self.head)
        arrays = cells, facts, self.left_ids, self.left_weights, stored.ids, stored.start, stored.products
        call = _Texts(
            *map(address, arrays),
            None if texts is None else address(texts),
            vocabulary=len(cells),
            words=len(self.left_ids),
            tokens=len(stored.ids),
            count=len(scores),
            stride=cells.shape[1],
            k=self.k,
            threads=library.threads(),
            fixed=K1 * (1 - B),
            by_word=K1 * B / self.average_length,
            head=fields,
            scores=address(scores),
        )
        native.run("stored_words", np.float32, call)
        del kept
        return scores

    def _reference(self, texts: NDArray[np.int64] | None) -> NDArray[np.float32]:
        stored = self.stored
        numbers = np.arange(len(stored.start) - 1) if texts is None else texts
        scores = np.zeros(len(numbers), np.float32)
        for at, text in enumerate(numbers.tolist()):
            first, end = int(stored.start[text]), int(stored.start[text + 1])
            if not 0 <= first <= end <= len(stored.ids):
                raise InputError(library.OUTSIDE)
            right = stored.ids[None, first:end].astype(np.int64)
            pair = TextPairs(self.left_ids[None], right, np.array([len(self.left_ids)]), np.array([end - first]))
            f = pair_features_reference(self.table, pair, self.average_length, self.k)
            scores[at] = self.head.score(f)[0]
        return scores
