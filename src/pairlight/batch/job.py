"""Runs a job over the blocks of a table into an output folder: each block exactly once, and resumable.

A block is finished when its marker is there, which is written after everything else of the block. The names of a
block's files depend only on the block, so a block that is processed again after a crash replaces them.
"""

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pairlight.core.errors import InputError
from pairlight.core.files import is_leftover
from pairlight.core.folders import LOCK, locked_folder
from pairlight.core.progress import ProgressReporter
from pairlight.core.records import MAX_BYTES, RecordError, decode_file, decode_record, encode_record
from pairlight.core.storage import exists, is_url, join, names_in, open_file, write_file
from pairlight.data.blocks import Block, blocks_digest
from pairlight.layers.backends import Backend, inference_backend, prefer_backend

if TYPE_CHECKING:
    import pyarrow as pa

    from pairlight.matcher import Matcher

FORMAT = 1  # of the job and of markers
JOB, DONE, BAD = "_job.json", "_done", "_bad"
ROW, REASON = "bad_row", "bad_reason"  # columns of bad rows: the number in the file, from 1 on, and what is wrong

Counts = dict[str, int]  # what was made of a block: rows, bad rows, ...
ProcessBlock = Callable[[Block], Counts]


class BlockJob(Protocol):
    """What is done with every block. It is sent to other processes, which open it once."""

    @property
    def out(self) -> str:
        """The folder or URL that results are written to."""
        ...

    @property
    def model(self) -> str | None:
        """The model that is needed: a folder, or the name of a ready-made one."""
        ...

    def identity(self) -> dict[str, Any]:
        """What the result depends on besides the blocks; a folder is continued only by the same job."""
        ...

    def open(self, careful: bool = False) -> ProcessBlock:
        """Load what is needed, such as a model; the function writes the result of a block to `out`.

        If `careful`, the block has ended its process before: a model works in another one, to find the row.
        """
        ...


Runner = Callable[[BlockJob, Sequence[Block]], Iterator[Counts]]  # yields after every finished block


@dataclass(frozen=True)
class JobReport:
    """What a job has done, earlier runs into the same folder included."""

    blocks: int
    resumed: int  # blocks that earlier runs had finished
    counts: Counts  # sums over all blocks


def run_job(job: BlockJob, blocks: Sequence[Block], runner: Runner, reporter: ProgressReporter) -> JobReport:
    """Process the blocks that are not finished yet, as the only run that writes to a local folder."""
    # An error of the job itself comes before anything is written.
    identity = json.loads(json.dumps({**job.identity(), "blocks": blocks_digest(blocks)}))
    with nullcontext() if is_url(job.out) else locked_folder(Path(job.out)):
        _claim(job, identity)
        finished = _finished(job, blocks)
        pending = [block for block in blocks if block.number not in finished]
        resumed = len(blocks) - len(pending)
        if resumed:
            reporter.say(f"{resumed:,} of {len(blocks):,} blocks are finished already.")
        total = sum(block.rows for block in blocks)
        done = total - sum(block.rows for block in pending)
        reporter.update("Working", done / total, f"{done:,} of {total:,} rows")
        sums: Counter[str] = Counter()
        for counts in finished.values():
            sums.update(counts)
        for counts in runner(job, pending):
            sums.update(counts)
            done += counts["rows"]
            reporter.update("Working", done / total, f"{done:,} of {total:,} rows")
    return JobReport(len(blocks), resumed, dict(sums))


def job_backend() -> Backend:
    """The library that models of jobs run on: NumPy, with which a process starts sooner and most models are faster."""
    with prefer_backend("numpy"):
        return inference_backend()


def load_matcher(model: str) -> "Matcher":
    """The model of a job."""
    from pairlight.matcher import Matcher

    return Matcher.load(model, backend=job_backend())


def run_here(job: BlockJob, blocks: Sequence[Block]) -> Iterator[Counts]:
    """Run a job in this process."""
    if blocks:
        process = job.open()
        for block in blocks:
            yield finish_block(job, process, block)


def finish_block(job: BlockJob, process: ProcessBlock, block: Block) -> Counts:
    """Process a block and write its marker."""
    counts = process(block)
    with write_file(join(job.out, DONE, _marker(block))) as file:
        file.write(encode_record({"counts": counts}, FORMAT))
    return counts


def set_aside(out: str, block: Block, bad: "Sequence[tuple[pa.Table, int, Mapping[int, str]]]") -> int:
    """Write the bad rows of a block's tables to their own file, and return how many there are.

    Each table comes with the number of rows before it in the block, and with what is wrong by row.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for table, before, faults in bad:
        at = sorted(faults)
        if at:
            numbers = pa.array([block.start + before + i + 1 for i in at])
            reasons = pa.array([faults[i] for i in at])
            tables.append(table.take(at).append_column(ROW, numbers).append_column(REASON, reasons))
    if tables:
        with write_file(join(out, BAD, f"{block.name}.parquet")) as file:
            pq.write_table(pa.concat_tables(tables), file)
    return sum(map(len, tables))


def _marker(block: Block) -> str:
    return f"{block.name}.json"


def _finished(job: BlockJob, blocks: Sequence[Block]) -> dict[int, Counts]:
    """What was made of the finished blocks, by number; a block whose marker is damaged is repeated, with a warning."""
    names = set(names_in(join(job.out, DONE)))
    found = {}
    for block in blocks:
        if _marker(block) not in names:
            continue
        fix = "its block is processed again"
        try:
            path, values = _read(join(job.out, DONE, _marker(block)), fix)
            found[block.number] = decode_file(path, Counts, values.get("counts"), fix)
        except RecordError as error:
            warnings.warn(str(error), stacklevel=2)
    return found


def _read(url: str, fix: str) -> tuple[Path, dict[str, Any]]:
    """The values of a record under a path or URL, and its path as errors show it."""
    path = Path(url)
    with open_file(url) as file:
        return path, decode_record(file.read(MAX_BYTES), path, FORMAT, fix)


def _claim(job: BlockJob, identity: dict[str, Any]) -> None:
    """Make sure that the folder is empty, or that what is in it was made by the same job."""
    path = join(job.out, JOB)
    if exists(path):
        _, found = _read(path, "delete it if the files there are of the same job, or choose another folder")
        different = sorted(name for name in identity.keys() | found.keys() if identity.get(name) != found.get(name))
        if different == ["blocks"]:
            raise InputError(
                f"{job.out} has the result of other input: a file was added, removed or written again since. Choose "
                "another folder.",
                option="out",
            )
        if different:
            raise InputError(
                f"{job.out} has the result of another job (its {' and '.join(different)} differ): choose another "
                "folder.",
                option="out",
            )
        return
    if any(name != LOCK and not is_leftover(name) for name in names_in(job.out)):  # what a killed job has left
        raise InputError(f"{job.out} is not empty: choose another folder.", option="out")
    with write_file(path) as file:
        file.write(encode_record(identity, FORMAT))
