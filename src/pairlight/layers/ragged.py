"""Encodings of many texts without padding, stored once and turned into batches on demand."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch

from pairlight.layers.types import Array, Seq


@dataclass(frozen=True)
class Ragged:
    """Text t has rows start[t] to start[t] + lengths[t], one per position; or the single row start[t]."""

    x: Array  # [rows, D]
    ids: Array | None  # [rows] word ids; None if a text is one vector
    start: Array  # [T]
    lengths: Array  # [T]

    @classmethod
    def of(cls, batches: Sequence[Seq] | Sequence[Array]) -> Self:
        """The texts of all batches, in order."""
        x, ids, lengths = [], [], []
        for batch in batches:
            if isinstance(batch, Seq):
                x.append(batch.x[batch.mask])
                ids.append(batch.ids[batch.mask])
                lengths.append(batch.lengths)
            else:
                x.append(batch)
                lengths.append(torch.ones(len(batch), dtype=torch.int64, device=batch.device))
        n = torch.cat(lengths)
        return cls(torch.cat(x), torch.cat(ids) if ids else None, n.cumsum(0) - n, n)

    def to(self, device: torch.device) -> Self:
        ids = None if self.ids is None else self.ids.to(device)
        return replace(self, x=self.x.to(device), ids=ids, start=self.start.to(device), lengths=self.lengths.to(device))

    def in_order(self) -> Self:
        """The same texts, with their rows stored in the order of the texts."""
        start = self.lengths.cumsum(0) - self.lengths
        rows = torch.arange(len(self.x), device=start.device) + (self.start - start).repeat_interleave(self.lengths)
        return replace(self, x=self.x[rows], ids=None if self.ids is None else self.ids[rows], start=start)

    def rows(self, texts: Array) -> tuple[Array, Array]:
        """The rows of these texts, 0 under padding, and their mask.   [B] -> [B, L], [B, L]"""
        lengths = self.lengths[texts, None]
        position = torch.arange(int(lengths.max()), device=texts.device)
        mask = position < lengths
        return (self.start[texts, None] + position).masked_fill(~mask, 0), mask

    def pad(self, texts: Array) -> Seq | Array:
        """These texts as a batch."""
        if self.ids is None:
            return self.x[self.start[texts]]
        rows, mask = self.rows(texts)
        x = self.x.index_select(0, rows.flatten()).view(*rows.shape, -1).masked_fill_(~mask[..., None], 0)  # [B, L, D]
        return Seq(x, mask, self.ids[rows])

    def all(self) -> Seq | Array:
        """All texts as a batch; without a copy if they are in order and have equal lengths."""
        length = int(self.lengths[0])
        if self.ids is None or bool((self.lengths != length).any()):
            return self.pad(torch.arange(len(self.start), device=self.start.device))
        ids = self.ids.view(-1, length)
        return Seq(self.x.view(*ids.shape, -1), torch.ones_like(ids, dtype=torch.bool), ids)
