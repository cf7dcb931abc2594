"""What many texts were read as, end to end and without padding: kept once, matched as often as asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from pairlight.layers.types import Seq


@dataclass(frozen=True)
class Ragged:
    """Text t is rows start[t] to start[t] + lengths[t]; where a text is one vector, it is row start[t]."""

    x: Tensor  # [rows, D]
    ids: Tensor | None  # [rows] which words these are; None where a text is one vector
    start: Tensor  # [T]
    lengths: Tensor  # [T]

    @classmethod
    def of(cls, readings: Sequence[Seq] | Sequence[Tensor]) -> Self:
        """Batches of texts, one behind the other."""
        x, ids, lengths = [], [], []
        for each in readings:
            if isinstance(each, Seq):
                x.append(each.x[each.mask])
                ids.append(each.ids[each.mask])
                lengths.append(each.lengths)
            else:
                x.append(each)
                lengths.append(torch.ones(len(each), dtype=torch.int64, device=each.device))
        n = torch.cat(lengths)
        return cls(torch.cat(x), torch.cat(ids) if ids else None, n.cumsum(0) - n, n)

    def to(self, device: torch.device) -> Self:
        ids = None if self.ids is None else self.ids.to(device)
        return replace(self, x=self.x.to(device), ids=ids, start=self.start.to(device), lengths=self.lengths.to(device))

    def in_order(self) -> Self:
        """The same texts with their rows in the order of the texts."""
        start = self.lengths.cumsum(0) - self.lengths
        rows = torch.arange(len(self.x), device=start.device) + (self.start - start).repeat_interleave(self.lengths)
        return replace(self, x=self.x[rows], ids=None if self.ids is None else self.ids[rows], start=start)

    def rows(self, texts: Tensor) -> tuple[Tensor, Tensor]:
        """Where the words of these texts stand, and which places are words.   [B] -> [B, L], [B, L]"""
        lengths = self.lengths[texts, None]
        place = torch.arange(int(lengths.max()), device=texts.device)
        mask = place < lengths
        return (self.start[texts, None] + place).masked_fill(~mask, 0), mask

    def pad(self, texts: Tensor) -> Seq | Tensor:
        """These texts as a batch."""
        if self.ids is None:
            return self.x[self.start[texts]]
        at, mask = self.rows(texts)
        x = self.x.index_select(0, at.flatten()).view(*at.shape, -1).masked_fill_(~mask[..., None], 0)  # [B, L, D]
        return Seq(x, mask, self.ids[at])

    def all(self) -> Seq | Tensor:
        """All texts as a batch: where they stand in order and are of one length, without moving them."""
        length = int(self.lengths[0])
        if self.ids is None or bool((self.lengths != length).any()):
            return self.pad(torch.arange(len(self.start), device=self.start.device))
        ids = self.ids.view(-1, length)
        return Seq(self.x.view(*ids.shape, -1), torch.ones_like(ids, dtype=torch.bool), ids)
