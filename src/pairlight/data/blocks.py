"""Blocks of Parquet files: the parts of a large table that are read one at a time."""

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import Any

from pairlight.core.errors import InputError
from pairlight.core.storage import file_version, find_files, is_url, open_file
from pairlight.data.columns import TableColumns

ROWS = 100_000  # of a block at most, unless a single row group has more; also rows that are read at a time
PARQUET = ".parquet"
MAX_BYTES = 100_000_000  # of the rows that are read at a time
_STEP = 64  # rows that are decoded at a time: a small compressed file can have a long text in every row
_MAX_STEP_BYTES = 300_000_000  # of these


@dataclass(frozen=True)
class Block:
    """Some consecutive row groups of a Parquet file."""

    number: int  # in the table, from 0 on
    path: str
    first_group: int
    groups: int
    start: int  # the first row, in the file
    rows: int
    version: str  # of the file: another one if its content has changed

    @property
    def name(self) -> str:
        return f"part-{self.number:06}"


def plan_blocks(source: str, columns: TableColumns, rows: int = ROWS) -> list[Block]:
    """The blocks of a Parquet file, a folder of them, or a glob; all files must have the columns."""
    paths = find_files(source, PARQUET)
    if not paths:
        raise InputError(f"There is no Parquet file in {source}: give a folder or files of Parquet, or a single table.")
    blocks: list[Block] = []
    for path in paths:
        with open_parquet(path) as file:
            columns.find(file.schema_arrow.names, path)
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
            version = _version(path, file)
        first = start = 0
        while first < len(sizes):
            groups = 1
            while first + groups < len(sizes) and sum(sizes[first : first + groups + 1]) <= rows:
                groups += 1
            count = sum(sizes[first : first + groups])
            if count:
                blocks.append(Block(len(blocks), path, first, groups, start, count, version))
            first, start = first + groups, start + count
    if not blocks:
        raise InputError(f"{source} has no rows: give at least one.")
    return blocks


def read_block(
    block: Block, columns: Sequence[str] | None = None, rows: int = ROWS, size: int = MAX_BYTES
) -> Iterator[Any]:
    """Tables of at most `rows` rows and about `size` bytes, in order; a row group is never read whole."""
    import pyarrow as pa

    groups = list(range(block.first_group, block.first_group + block.groups))
    with open_parquet(block.path) as file:
        pending: list[Any] = []
        length = volume = 0
        for batch in read_batches(file, block.path, columns, groups):
            if pending and (length + len(batch) > rows or volume + batch.nbytes > size):
                yield pa.Table.from_batches(pending).combine_chunks()
                pending, length, volume = [], 0, 0
            pending.append(batch)
            length, volume = length + len(batch), volume + batch.nbytes
        if pending:
            yield pa.Table.from_batches(pending).combine_chunks()


def read_batches(
    file: Any, path: str, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None
) -> Iterator[Any]:
    """The rows of an open Parquet file, few at a time; an InputError if few have very long texts."""
    for batch in file.iter_batches(_STEP, row_groups=groups, columns=columns):
        if batch.nbytes > _MAX_STEP_BYTES:
            raise InputError(
                f"{path} has {len(batch)} rows of more than {_MAX_STEP_BYTES:,} bytes: divide their texts."
            )
        yield batch


def values_of(column: Any) -> list[Any]:
    """The values of an Arrow column; those that Python cannot have are as they are stored.

    These are texts that are not UTF-8, which become bytes, and dates after the year 9999, which become numbers.
    """
    try:
        found: list[Any] = column.to_pylist()
        return found
    except (ValueError, OverflowError):
        return [_value_of(each) for each in column]


def _value_of(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        if hasattr(scalar, "as_buffer"):
            return scalar.as_buffer().to_pybytes()
        return getattr(scalar, "value", str(type(scalar)))


def blocks_digest(blocks: Sequence[Block]) -> str:
    """Identifies the blocks and the content of their files."""
    return hashlib.sha256(json.dumps([astuple(block) for block in blocks]).encode()).hexdigest()


def _version(path: str, file: Any) -> str:
    """Identifies the content without reading it: by the sizes, the statistics and the time of the file."""
    footer = io.BytesIO()
    file.metadata.write_metadata_file(footer)
    return hashlib.sha256(footer.getvalue() + file_version(path).encode()).hexdigest()


@contextmanager
def open_parquet(path: str) -> Iterator[Any]:
    """A `pyarrow.parquet.ParquetFile`."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(f"Reading {path} needs pyarrow: pip install 'pairlight[parquet]'.") from None
    try:
        # Arrow reads local files without the help of Python.
        with pq.ParquetFile(open_file(path) if is_url(path) else path) as file:
            yield file
    except InputError:
        raise
    # Two columns of one name are a KeyError.
    except (pa.ArrowException, OSError, KeyError) as error:
        raise unreadable(path, error) from None


def unreadable(path: str, error: Exception) -> InputError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return InputError(f"{path} cannot be read as Parquet ({reason}): write the file again.")
