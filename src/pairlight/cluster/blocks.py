"""Runs block jobs on Ray: every worker process opens the job once and processes one block at a time."""

import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from pairlight.batch.job import BlockJob, Counts, ProcessBlock, Runner, finish_block, job_backend
from pairlight.cluster.connect import connected, model_files, unpack_model
from pairlight.core.errors import InputError
from pairlight.core.memory import disable_malloc_trim
from pairlight.data.blocks import Block
from pairlight.layers.backends import set_threads

RETRIES = 3  # of a block whose worker died: it can also be a node that was lost
IN_FLIGHT = 1000  # blocks that Ray knows of at a time


def ray_runner(address: str) -> Runner:
    """A runner for `run_job` on the cluster at this address."""

    def run(job: BlockJob, blocks: Sequence[Block]) -> Iterator[Counts]:
        if blocks:
            with connected(address) as ray:
                yield from _run(ray, job, blocks)

    return run


def _run(ray: Any, job: BlockJob, blocks: Sequence[Block]) -> Iterator[Counts]:
    """Process the blocks as tasks of Ray, which repeats those whose worker or node was lost.

    Ray Data would send the rows through its object store. Here workers read and write blocks themselves, so that the
    size of the store does not matter.
    """
    died = (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError)
    files = [ray.put(model_files(job.model) if job.model else {})]  # a list: Ray would fetch them for every block
    task = ray.remote(num_cpus=1, max_retries=RETRIES)(_process)
    waiting, running = iter(blocks), dict[Any, tuple[Block, bool]]()
    fatal: list[Block] = []
    try:
        while True:
            for block in islice(waiting, IN_FLIGHT - len(running)):
                running[task.remote(job, files, block, False)] = block, False
            if not running:
                break
            (done,), _ = ray.wait(list(running))
            block, careful = running.pop(done)
            try:
                yield ray.get(done)
            except died:
                if careful:
                    fatal.append(block)
                else:
                    running[task.remote(job, files, block, True)] = block, True
            except ray.exceptions.RayTaskError as error:
                raise _named(error, block) from None
    finally:
        for each in running:
            ray.cancel(each, force=True)
    for block in fatal:
        raise InputError(
            f"The workers that processed {block.path} from row {block.start + 1:,} to {block.start + block.rows:,} "
            "died again and again, which usually means that memory ran out: look for very long texts there, or use "
            "nodes with more memory. All other blocks are finished."
        )


def _named(error: Any, block: Block) -> Exception:
    """The error of a worker, with the name of its block."""
    cause: Exception = error.cause
    if isinstance(cause, InputError):
        return InputError(f"{cause} ({block.name})", option=cause.option)
    if isinstance(cause, OSError):
        return OSError(cause.errno, f"{cause.strerror or cause} ({block.name})")
    return cause


def _process(job: Any, files: list[Any], block: Block, careful: bool) -> Counts:
    return finish_block(job, _opened(job, files[0], careful), block)


@cache
def _opened(job: Any, files: Any, careful: bool) -> ProcessBlock:
    """The job, opened once in this process."""
    import ray

    disable_malloc_trim()
    set_threads(1, job_backend())
    warnings.showwarning = _print_note
    if job.model is None:
        return job.open(careful)
    with tempfile.TemporaryDirectory() as folder:  # a model is read whole
        return replace(job, model=unpack_model(ray.get(files), Path(folder))).open(careful)


def _print_note(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"Note: {message}", file=sys.stderr)
