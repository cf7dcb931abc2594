"""One thread that scores: what waits for the same model is scored together, without waiting for more."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pairlight.serve.served_model import PairScores, ServedModel

T = TypeVar("T")

CHUNK = 256  # pairs of a request that are scored without looking whether its client is still there
BATCH_SECONDS = 0.02  # of scoring together: all requests of a batch wait for its last one
MIN_BATCH, MAX_BATCH = 64, 1024  # pairs that are scored together, if so many wait
_NEWEST = 0.2  # weight of the newest batch in the mean of pairs per second


@dataclass(frozen=True)
class _Scoring:
    model: ServedModel
    left: Sequence[str]
    right: Sequence[str]
    future: "Future[PairScores]"


@dataclass(frozen=True)
class _Call(Generic[T]):
    work: Callable[[], T]
    future: "Future[T]"


class WorkQueue:
    """Jobs in the order they came; a cancelled future is skipped.

    The queue itself has no limit: the application admits a limited number of requests.
    """

    def __init__(self) -> None:
        self._jobs: deque[_Scoring | _Call[Any]] = deque()
        self._pairs_per_second: dict[str, float] = {}  # by the name of the model
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="scoring", daemon=True)
        self._thread.start()

    async def score(self, model: ServedModel, left: Sequence[str], right: Sequence[str]) -> PairScores:
        """The scores of pairs, in chunks; cancelling skips those that have not begun."""
        jobs = [
            _Scoring(model, left[at : at + CHUNK], right[at : at + CHUNK], Future())
            for at in range(0, len(left), CHUNK)
        ]
        self._add(jobs)
        return PairScores.join(await asyncio.gather(*(asyncio.wrap_future(job.future) for job in jobs)))

    async def run(self, work: Callable[[], T]) -> T:
        """The result of any other work with a model or an index."""
        job: _Call[T] = _Call(work, Future())
        self._add([job])
        return await asyncio.wrap_future(job.future)

    def close(self) -> None:
        """Finish what waits, then end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _add(self, jobs: Sequence[_Scoring | _Call[Any]]) -> None:
        with self._changed:
            self._jobs.extend(jobs)
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._jobs and not self._closed:
                    self._changed.wait()
                if not self._jobs:
                    return
                first = self._jobs.popleft()
                batch = self._take(first) if isinstance(first, _Scoring) else []
            if isinstance(first, _Call):
                _call(first)
            else:
                self._score(first.model, batch)

    def _take(self, first: _Scoring) -> list[_Scoring]:
        """The first job and others that wait for the same model; those for other models keep their order."""
        batch, size, others = [first], len(first.left), list[_Scoring | _Call[Any]]()
        limit = self._batch_size(first.model)
        while self._jobs and size < limit:
            job = self._jobs.popleft()
            if isinstance(job, _Scoring) and job.model is first.model and size + len(job.left) <= limit:
                batch.append(job)
                size += len(job.left)
            else:
                others.append(job)
        self._jobs.extendleft(reversed(others))
        return batch

    def _batch_size(self, model: ServedModel) -> int:
        """As many pairs as the model scores in `BATCH_SECONDS`, within limits."""
        speed = self._pairs_per_second.get(model.name, 0.0)
        return int(min(max(BATCH_SECONDS * speed, MIN_BATCH), MAX_BATCH))

    def _score(self, model: ServedModel, batch: Sequence[_Scoring]) -> None:
        started = time.perf_counter()
        pairs = _score_together(model, batch)
        if pairs:
            speed = pairs / (time.perf_counter() - started)
            before = self._pairs_per_second.get(model.name, speed)
            self._pairs_per_second[model.name] = before + _NEWEST * (speed - before)


def _call(job: _Call[Any]) -> None:
    if not job.future.set_running_or_notify_cancel():
        return
    try:
        job.future.set_result(job.work())
    except BaseException as error:  # a panic of a native extension is no Exception; the only scoring thread goes on
        job.future.set_exception(error)


def _score_together(model: ServedModel, batch: Sequence[_Scoring]) -> int:
    """Score what is still wanted, and return how many pairs were scored."""
    wanted = [job for job in batch if job.future.set_running_or_notify_cancel()]
    if not wanted:
        return 0
    try:
        left = [text for job in wanted for text in job.left]
        right = [text for job in wanted for text in job.right]
        parts = model.score(left, right).split([len(job.left) for job in wanted])
    except BaseException as error:
        for job in wanted:
            job.future.set_exception(error)
        return 0
    for job, part in zip(wanted, parts, strict=True):
        job.future.set_result(part)
    return len(left)
