"""Encodings of many texts without padding, stored once and turned into batches on demand."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from pairlight.layers.backends import array_namespace
from pairlight.layers.types import Array, EncodedText, Seq, Tokens


@dataclass(frozen=True)
class RaggedTokens:
    """Text t has the tokens start[t] to start[t] + lengths[t]."""

    ids: Array  # [tokens]
    start: Array  # [T]
    lengths: Array  # [T]

    @classmethod
    def of(cls, batches: Sequence[Tokens]) -> Self:
        """The texts of all batches, in order."""
        xp = array_namespace(batches[0].ids)
        n = xp.cat([batch.lengths for batch in batches])
        return cls(xp.cat([batch.ids[batch.mask] for batch in batches]), n.cumsum(0) - n, n)

    def take(self, texts: Array) -> Self:
        """These texts, in this order; the tokens stay where they are."""
        return replace(self, start=self.start[texts], lengths=self.lengths[texts])

    def in_order(self) -> Self:
        """The same texts, with their tokens stored in the order of the texts."""
        start = self.lengths.cumsum(0) - self.lengths
        return replace(self, ids=self.ids[_ordered_rows(self.start, start, self.lengths)], start=start)

    def pad(self, texts: Array) -> Tokens:
        """These texts as a batch."""
        rows, mask = _padded_rows(self.start, self.lengths, texts)
        return Tokens(self.ids[rows], mask)


@dataclass(frozen=True)
class Ragged:
    """Text t has rows start[t] to start[t] + lengths[t], one per position; or the single row start[t]."""

    x: Array  # [rows, D]
    ids: Array | None  # [rows] word ids; None if a text is one vector
    start: Array  # [T]
    lengths: Array  # [T]
    subwords: RaggedTokens | None = None  # the same texts as subwords, where the model has evidence

    @classmethod
    def of(cls, encoded: Sequence[Seq | Array | EncodedText]) -> Self:
        """The texts of all batches, in order."""
        subwords = [each.subwords for each in encoded if isinstance(each, EncodedText)]
        x, ids, lengths = [], [], []
        for batch in (each.own if isinstance(each, EncodedText) else each for each in encoded):
            if isinstance(batch, Seq):
                x.append(batch.x[batch.mask])
                ids.append(batch.ids[batch.mask])
                lengths.append(batch.lengths)
            else:
                x.append(batch)
                lengths.append(array_namespace(batch).arange(len(batch), batch) * 0 + 1)
        xp = array_namespace(x[0])
        n = xp.cat(lengths)
        tokens = RaggedTokens.of(subwords) if subwords else None
        return cls(xp.cat(x), xp.cat(ids) if ids else None, n.cumsum(0) - n, n, tokens)

    def take(self, texts: Array) -> Self:
        """These texts, in this order; the rows stay where they are."""
        subwords = None if self.subwords is None else self.subwords.take(texts)
        return replace(self, start=self.start[texts], lengths=self.lengths[texts], subwords=subwords)

    def in_order(self) -> Self:
        """The same texts, with their rows stored in the order of the texts."""
        start = self.lengths.cumsum(0) - self.lengths
        rows = _ordered_rows(self.start, start, self.lengths)
        return replace(
            self,
            x=self.x[rows],
            ids=None if self.ids is None else self.ids[rows],
            start=start,
            subwords=None if self.subwords is None else self.subwords.in_order(),
        )

    def pad(self, texts: Array) -> Seq | Array | EncodedText:
        """These texts as a batch."""
        own = self._pad_own(texts)
        return own if self.subwords is None else EncodedText(own, self.subwords.pad(texts))

    def _pad_own(self, texts: Array) -> Seq | Array:
        if self.ids is None:
            return self.x[self.start[texts]]
        rows, mask = _padded_rows(self.start, self.lengths, texts)
        x = array_namespace(self.x).rows(self.x, rows)  # [B, L, D]
        x[~mask] = 0
        return Seq(x, mask, self.ids[rows])

    def all(self) -> Seq | Array | EncodedText:
        """All texts as a batch; without a copy if they are in order and have equal lengths."""
        texts = array_namespace(self.start).arange(len(self.start), self.start)
        own = self._all_own(texts)
        return own if self.subwords is None else EncodedText(own, self.subwords.pad(texts))

    def _all_own(self, texts: Array) -> Seq | Array:
        length = int(self.lengths[0])
        if self.ids is None or bool((self.lengths != length).any()):
            return self._pad_own(texts)
        ids = self.ids.reshape(-1, length)
        return Seq(self.x.reshape(*ids.shape, -1), array_namespace(ids).ones_like_ids(ids), ids)


def _ordered_rows(start: Array, new_start: Array, lengths: Array) -> Array:
    """The rows of all texts, text after text."""
    xp = array_namespace(start)
    rows: Array = xp.arange(int(lengths.sum()), start) + xp.repeat(start - new_start, lengths, 0)
    return rows


def _padded_rows(start: Array, lengths: Array, texts: Array) -> tuple[Array, Array]:
    """The rows of these texts, 0 under padding, and their mask.   [B] -> [B, L], [B, L]"""
    n = lengths[texts, None]
    xp = array_namespace(texts)
    position = xp.arange(int(n.max()), texts)
    mask = position < n
    return xp.where(mask, start[texts, None] + position, 0), mask
