"""Jobs and work that tests run on a cluster; its processes import them from here."""

import os
import resource
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.work import answer
from pairlight.batch.encode import EncodeJob
from pairlight.batch.index import IndexJob
from pairlight.batch.job import ProcessBlock
from pairlight.batch.score import ScoreJob
from toy_pairs import overlap


@dataclass(frozen=True)
class Slow:
    """Takes its time, so that there is a middle to be disturbed in; notes the process of every attempt."""

    seconds: float = 0.0
    attempts: str = ""  # a folder

    def open(self, careful: bool = False) -> ProcessBlock:
        process = super().open(careful)

        def slowly(block):
            Path(self.attempts, f"{block.number}-{time.monotonic_ns()}-{os.getpid()}").touch()
            time.sleep(self.seconds)
            return process(block)

        return slowly


@dataclass(frozen=True)
class SlowJob(Slow, ScoreJob): ...


@dataclass(frozen=True)
class SlowEncodeJob(Slow, EncodeJob): ...


@dataclass(frozen=True)
class SlowIndexJob(Slow, IndexJob): ...


@dataclass(frozen=True)
class PoisonJob(SlowJob):
    """A process ends at once where a text is `poison`, as one does that has no memory left."""

    def predict(self, matcher, pairs):
        if "poison" in pairs.texts:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().predict(matcher, pairs)


@dataclass(frozen=True)
class StragglerJob(SlowJob):
    """The process that gets the first block is slow with all of its blocks."""

    def open(self, careful: bool = False) -> ProcessBlock:
        process = replace(self, seconds=0.0)._fast(careful)
        slow = False

        def sometimes_slowly(block):
            nonlocal slow
            slow = slow or block.number == 0
            time.sleep(self.seconds if slow else 0.0)
            return process(block)

        return sometimes_slowly

    def _fast(self, careful: bool) -> ProcessBlock:
        return super().open(careful)


@dataclass(frozen=True)
class FullDiskJob(SlowJob):
    """Cannot write more than a few bytes to a file while the file `full` exists."""

    full: str = ""

    def open(self, careful: bool = False) -> ProcessBlock:
        process = super().open(careful)

        def without_room(block):
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            if Path(self.full).exists() and block.number >= 3:
                resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
            try:
                return process(block)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)

        return without_room


def write_table(folder: Path, files: int, rows: int, bad: dict[int, str | None] | None = None) -> Path:
    """Parquet files of different pairs with one more column; `bad` replaces right texts by their number."""
    folder.mkdir(parents=True)
    pairs = overlap(files * rows // 4 + 1, seed=0)
    left, right = ([pairs.texts[i] for i in side] for side in (pairs.left, pairs.right))
    for number, text in (bad or {}).items():
        right[number] = text
    for at in range(files):
        part = slice(at * rows, (at + 1) * rows)
        table = {"n": list(range(at * rows, (at + 1) * rows)), "left": left[part], "right": right[part]}
        pq.write_table(pa.table(table), folder / f"{at:03}.parquet")
    return folder


def slow_answer(spec, splits):
    """Note the attempt and its process, then answer after a while."""
    Path(spec.options["folder"], f"{spec.seed}-{time.monotonic_ns()}-{os.getpid()}").touch()
    return answer(spec, splits)


class FullStore:
    """Holds objects in the object store of its node."""

    def __init__(self, size: int) -> None:
        import ray

        chunk = 8_000_000
        self.objects = [ray.put(np.full(chunk, i, np.uint8)) for i in range(size // chunk)]

    def size(self) -> int:
        import ray

        return sum(len(ray.get(each)) for each in self.objects)
