"""Labeled pairs in Parquet files that are read block by block, since they may not fit in memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairlight.core.errors import InputError
from pairlight.core.storage import is_folder, join, write_file
from pairlight.data.blocks import MAX_BYTES, PARQUET, ROWS, Block, open_parquet, plan_blocks, read_block, values_of
from pairlight.data.columns import Column, TableColumns
from pairlight.data.pairs import Pairs, concat_pairs
from pairlight.data.readers import read_pairs

SAMPLE = 200_000  # rows that the vocabulary, the statistics and the linear fit are made of
SAMPLE_BYTES = 100_000_000  # of their texts, about, since every worker holds them
GOLDEN_RATIO = (1 + 5**0.5) / 2
BLOCKS = 16  # at least, of pairs that are written for several workers; not their number, which may change
LARGE = 1_000_000  # rows of a single file from which it is read in blocks


@dataclass(frozen=True)
class PairBlocks:
    """Blocks of Parquet files with the columns of pairs. Rows of a ranking list must follow each other."""

    blocks: tuple[Block, ...]
    columns: dict[str, str]  # by role: left, right, label, left_id, right_id
    skip_bad_rows: bool = False

    def __len__(self) -> int:
        return sum(block.rows for block in self.blocks)

    def read(self, block: Block, rows: int = ROWS, size: int = MAX_BYTES) -> Iterator[Pairs]:
        """The pairs of a block, at most `rows` and about `size` bytes at a time."""
        names = list(self.columns.values())
        start = block.start
        for table in read_block(block, names, rows, size):
            cells = (values_of(table.column(name)) for name in names)
            found = [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]
            given: dict[str, Any] = {"skip_bad_rows": self.skip_bad_rows, "need_label": None, **self.columns}
            try:
                yield read_pairs(found, **given)[0]
            except InputError as error:
                raise InputError(f"{block.path}, rows from {start + 1} on: {error}", option=error.option) from None
            start += len(found)

    def sample(self, rows: int = SAMPLE, size: int = SAMPLE_BYTES) -> Pairs:
        """About `rows` pairs, from blocks at equal distances; fewer if their texts have more than `size` bytes."""
        count = max(1, min(len(self.blocks), round(rows * len(self.blocks) / max(1, len(self)))))
        at = np.unique(np.linspace(0, len(self.blocks) - 1, count).round().astype(int))
        found: dict[int, Pairs] = {}
        # Each gives an equal part of the bytes, but at least a few rows. With very long texts, the last ones that are
        # read give none, so they are read in an order of which any first part is spread over the data.
        for i in at[np.argsort(GOLDEN_RATIO * np.arange(len(at)) % 1)].tolist():
            found[i] = next(self.read(self.blocks[i], rows, size // (len(at) - len(found))))
            size -= sum(len(text.encode()) for text in found[i].texts)
            if size <= 0:
                break
        return concat_pairs([found[i] for i in sorted(found)])

    def hold_out(self) -> tuple["PairBlocks", Pairs]:
        """All blocks but the last, and its pairs as dev pairs."""
        if len(self.blocks) < 2:
            raise InputError("There is a single block of pairs, so none can be held out: give dev pairs.", option="dev")
        *rest, last = self.blocks
        return replace(self, blocks=tuple(rest)), next(self.read(last))


def is_large(source: str) -> bool:
    """Whether pairs are read in blocks: Parquet in a folder, a glob or under a URL, or a file of many rows."""
    if is_folder(source):
        return True
    if not source.lower().endswith(PARQUET):
        return False
    with open_parquet(source) as file:
        return bool(file.metadata.num_rows >= LARGE)


def pair_blocks(source: str, columns: Sequence[Column], skip_bad_rows: bool = False) -> PairBlocks:
    """The blocks of Parquet files."""
    found = TableColumns(columns)
    blocks = plan_blocks(source, found)
    return PairBlocks(tuple(blocks), found.used, skip_bad_rows)


def write_pair_blocks(pairs: Pairs, folder: str) -> PairBlocks:
    """Write pairs as a Parquet file of many blocks, whole ranking lists each, for workers to read their share."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    order = np.argsort(pairs.group, kind="stable")
    group, label = pairs.group[order], pairs.labels[order]
    names = ["left", "right", "label"]
    columns = [[pairs.texts[i] for i in side[order]] for side in (pairs.left, pairs.right)] + [label.tolist()]
    if pairs.left_id is not None:
        names.append("left_id")
        columns.append([pairs.left_id[i] for i in order])
    table = pa.table(dict(zip(names, columns, strict=True)))
    path = join(folder, f"pairs{PARQUET}")
    size = min(ROWS, -(-len(order) // BLOCKS))
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    cuts = [int(starts[np.searchsorted(starts, at)]) for at in range(0, int(starts[-1]) + 1, size)]
    with write_file(path) as file, pq.ParquetWriter(file, table.schema) as writer:
        for at, end in zip(cuts, [*cuts[1:], len(order)], strict=True):
            if end > at:
                writer.write_table(table.slice(at, end - at), end - at)
    return PairBlocks(
        tuple(plan_blocks(path, TableColumns([Column(name, name) for name in names]), 1)), {n: n for n in names}
    )
