"""Runs block jobs on Ray Data: every actor opens the job once and processes one block at a time."""

import json
import logging
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pairlight.batch.job import BlockJob, Counts, Runner, finish_block
from pairlight.cluster.connect import Files, connected, model_files, unpack_model
from pairlight.core.errors import InputError
from pairlight.core.storage import delete_folder, exists, join, open_file, write_file
from pairlight.data.blocks import Block

ATTEMPTS = "_attempts"
MAX_ATTEMPTS = 3  # of a block whose worker dies: it can also be a node that was lost


def ray_runner(address: str) -> Runner:
    """A runner for `run_job` on the cluster at this address."""

    def run(job: BlockJob, blocks: Sequence[Block]) -> Iterator[Counts]:
        if blocks:
            delete_folder(join(job.out, ATTEMPTS))
            with connected(address) as ray:
                yield from _run(ray, job, blocks)

    return run


def _run(ray: Any, job: BlockJob, blocks: Sequence[Block]) -> Iterator[Counts]:
    from ray.data import ActorPoolStrategy, DataContext, from_items

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    DataContext.get_current().enable_progress_bars = sys.stderr.isatty()
    # Only the numbers of rows travel through Ray: actors read and write blocks themselves, so that the size of the
    # object store does not matter, and readers cannot starve behind actors that hold all CPUs.
    table = from_items([{"block": json.dumps(asdict(block))} for block in blocks], override_num_blocks=len(blocks))
    actors = max(1, min(len(blocks), int(ray.cluster_resources().get("CPU", 1))))
    counts = table.map_batches(
        _BlockActor,
        fn_constructor_args=(job, ray.put(model_files(job.model) if job.model else {})),
        batch_size=1,
        # One block at a time, so that blocks do not wait behind that of a slow node.
        compute=ActorPoolStrategy(min_size=1, max_size=actors, initial_size=actors, max_tasks_in_flight_per_actor=1),
        num_cpus=1,
    )
    for row in counts.iter_rows():
        done = json.loads(row["done"])
        if "message" in done:
            raise InputError(done["message"]) if done["errno"] is None else OSError(done["errno"], done["message"])
        yield done


class _BlockActor:
    """A process of the cluster with an open job."""

    def __init__(self, job: Any, files: Any) -> None:
        import ray

        warnings.showwarning = _print_note
        self.folder = tempfile.TemporaryDirectory()  # deleted with the process
        found: Files = ray.get(files) if isinstance(files, ray.ObjectRef) else files
        self.job = replace(job, model=unpack_model(found, Path(self.folder.name))) if job.model else job
        self.process = self.job.open()

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        (row,) = batch["block"]
        block = Block(**json.loads(row))
        done: dict[str, Any]
        try:
            _count_attempt(self.job, block)
            done = finish_block(self.job, self.process, block)
        except (InputError, OSError) as error:  # Ray would pass it on as a page of text
            message = getattr(error, "strerror", None) or str(error)
            done = {"message": f"{message} ({block.name})", "errno": getattr(error, "errno", None)}
        return {"done": [json.dumps(done)]}


def _count_attempt(job: BlockJob, block: Block) -> None:
    """Raise InputError if the block has killed its workers again and again; Ray repeats it for ever."""
    path = join(job.out, ATTEMPTS, block.name)
    attempts = 1
    if exists(path):
        with open_file(path) as file:
            attempts += int(file.read())
    if attempts > MAX_ATTEMPTS:
        raise InputError(
            f"The workers that processed {block.path} from row {block.start + 1:,} to {block.start + block.rows:,} "
            f"died {MAX_ATTEMPTS} times, which usually means that memory ran out: look for very long texts there, or "
            "use nodes with more memory."
        )
    with write_file(path) as file:
        file.write(str(attempts).encode())


def _print_note(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"Note: {message}", file=sys.stderr)
