"""Executors take run specifications and return results as they finish: in worker processes, or in this process."""

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Protocol, TypeVar

from pairlight.core.errors import InputError
from pairlight.data.splits import Splits
from pairlight.experiments.spec import RunSpec

STOP_SECONDS = 5.0  # that a worker gets to end before it is killed

T = TypeVar("T")
Work = Callable[[RunSpec, Splits], T]  # a function of a module, or a partial one, so that other processes can find it


@dataclass(frozen=True)
class Completed(Generic[T]):
    """A run that finished."""

    spec: RunSpec
    result: T
    notes: tuple[str, ...] = ()  # the warnings of the run


@dataclass(frozen=True)
class Failed:
    """A run that could not be finished; other runs are not affected."""

    spec: RunSpec
    error: InputError
    diverged: bool = False  # whether the loss or the dev metric became infinite or NaN
    notes: tuple[str, ...] = ()


class Executor(Protocol):
    """Runs specifications."""

    def submit(self, specs: Sequence[RunSpec], work: Work[T], splits: Splits) -> Iterator[Completed[T] | Failed]:
        """Call `work(spec, splits)` for every specification, started in this order, and yield what comes of each."""
        ...


class SerialExecutor:
    """Runs one specification after the other in this process."""

    def submit(self, specs: Sequence[RunSpec], work: Work[T], splits: Splits) -> Iterator[Completed[T] | Failed]:
        for spec in specs:
            yield run_spec(spec, work, splits)


class ProcessExecutor:
    """Runs up to `jobs` specifications at a time, each in a process with one thread.

    The processes end when all is done, on Ctrl-C, when the iterator is closed, and with this process. If one of them
    is killed, the others are ended too and an InputError says what to do.
    """

    def __init__(self, jobs: int) -> None:
        if jobs < 1:
            raise InputError(f"jobs={jobs} is out of range: it must be at least 1.", option="jobs")
        self.jobs = jobs

    def submit(self, specs: Sequence[RunSpec], work: Work[T], splits: Splits) -> Iterator[Completed[T] | Failed]:
        waiting = deque(specs)
        workers: dict[Connection, _Worker] = {}
        try:
            for _ in range(min(self.jobs, len(waiting))):
                worker = _Worker(work, splits)
                workers[worker.connection] = worker
                worker.start(waiting.popleft())
            while busy := [worker.connection for worker in workers.values() if worker.spec is not None]:
                killed: InputError | None = None
                for connection in wait(busy):
                    worker = workers[connection]  # type: ignore[index]  # wait returns some of what it was given
                    try:
                        outcome = worker.outcome()
                    except InputError as error:
                        killed = error
                        continue
                    yield outcome
                    if waiting:
                        worker.start(waiting.popleft())
                if killed is not None:  # raised last, so that no finished run is lost
                    raise killed
        finally:
            for worker in workers.values():
                worker.stop()


class _Worker:
    """A process, as its parent sees it."""

    def __init__(self, work: Work[Any], splits: Splits) -> None:
        # Spawned, since a forked copy of a process in which PyTorch has threads may hang.
        context = multiprocessing.get_context("spawn")
        self.connection, there = context.Pipe()
        self.process = context.Process(target=_serve, args=(there, work, splits), daemon=True)
        with _interrupts_blocked():
            self.process.start()
        there.close()
        self.spec: RunSpec | None = None  # what it runs

    def start(self, spec: RunSpec) -> None:
        self.spec = spec
        try:
            self.connection.send(spec)
        except OSError:
            raise self._killed() from None

    def outcome(self) -> Completed[Any] | Failed:
        try:
            outcome = self.connection.recv()
        except (EOFError, OSError):
            raise self._killed() from None
        self.spec = None
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def stop(self) -> None:
        self.connection.close()  # an idle worker ends by itself
        if self.spec is not None:
            self.process.terminate()
        self.process.join(STOP_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()

    def _killed(self) -> InputError:
        run = f"{self.spec.model} with seed {self.spec.seed}" if self.spec else "a model"
        return InputError(
            f"The process that ran {run} was killed, which usually means that memory ran out. Finished runs are kept: "
            "run it again with fewer jobs.",
            option="jobs",
        )


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block SIGINT, also in processes that are started meanwhile.

    Ctrl-C in a terminal is sent to workers too, which would print a traceback each. Their parent ends them instead.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection, work: Work[Any], splits: Splits) -> None:
    """The main function of a worker process: run what arrives until the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(1)
    while True:
        try:
            spec = connection.recv()
        except EOFError:
            return
        outcome: Completed[Any] | Failed | BaseException
        try:
            outcome = run_spec(spec, work, splits)
        except Exception as error:
            error.add_note(f"In the process that ran {spec.name}:\n{traceback.format_exc()}")
            outcome = _picklable(error, RuntimeError(f"{spec.name}: {traceback.format_exc()}"))
        connection.send(outcome)


def _end_with_parent() -> None:
    """End this process when its parent has ended, also where it was killed and could not end its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def run_spec(spec: RunSpec, work: Work[T], splits: Splits) -> Completed[T] | Failed:
    from pairlight.training.loop import DivergedError

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        try:
            result = work(spec, splits)
        except InputError as error:
            diverged = isinstance(error, DivergedError)
            failed = _picklable(error, InputError(str(error), option=error.option))
            return Failed(spec, failed, diverged, _notes(caught))
    return Completed(spec, result, _notes(caught))


def _notes(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(each.message) for each in caught if each.category is UserWarning))


E = TypeVar("E", bound=BaseException)


def _picklable(error: E, otherwise: E) -> E:
    """The error if it survives pickling, which an exception with its own arguments may not."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return otherwise
    return error
