"""Runs a server until it is told to stop: processes, signals, loading and draining."""

import asyncio
import os
import resource
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn

from pairlight.core.errors import InputError
from pairlight.core.memory import return_freed_memory, share_memory_pools
from pairlight.search.manifest import read_manifest
from pairlight.serve.settings import ServerSettings

if TYPE_CHECKING:
    from pairlight.serve.application import Application

_BACKLOG = 2048  # connections that wait until they are accepted
_ACCEPTED = 64  # connections accepted at a time, so that those that are closed already do not count as open
_LISTENERS = 16  # of the socket, because uvloop accepts one connection at a time from each
_FILES = 4096  # open at a time, more than connections and the files of an index
_RESTART_SECONDS = 1.0
_POOLS = 4  # of memory, for all threads; with 2, overload halved the throughput
_RETURN_SECONDS = 5.0  # after which freed memory is given back again
_CACHED_SHAPES = "64"  # for which PyTorch keeps compiled code; its 1024 took 0.5 MB for each explanation
_SWITCH_SECONDS = 0.0005  # that the scoring thread runs on while the event loop waits; Python's 5 ms add up


def serve(settings: ServerSettings, on_ready: Callable[[str], object] | None = None) -> int:
    """Serve until SIGTERM or SIGINT, and return the exit code; SIGHUP reloads the models.

    `on_ready` is called with the address when a single process answers requests.
    """
    if settings.index is not None and not settings.models:
        own = read_manifest(settings.index).model
        settings = replace(settings, models=() if own is None else (own,))
    if not settings.models and settings.index is None:
        raise InputError("There is nothing to serve: give a model, or an index.")
    listening = _listen(settings)
    if settings.workers > 1:
        return _Workers(settings, listening).run()
    return _run_worker(settings, listening, on_ready)


def _listen(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio sends small packets at once only where the protocol is named: an answer has two, which took 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except (OSError, ValueError, TypeError) as error:  # a name that cannot be a host's is one of the last two
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{settings.host}:{settings.port} cannot be used ({reason}): choose another host or port.", option="port"
        ) from None
    listening.listen(_BACKLOG)
    return listening


def _run_worker(
    settings: ServerSettings, listening: socket.socket, on_ready: Callable[[str], object] | None = None
) -> int:
    """One process: an event loop, the scoring thread, and the models."""
    share_memory_pools(_POOLS)
    sys.setswitchinterval(_SWITCH_SECONDS)
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", _CACHED_SHAPES)  # read when PyTorch is imported
    from pairlight.layers.backends import prefer_backend, set_threads

    with prefer_backend("numpy"):
        set_threads(1)
    _allow_open_files()
    from pairlight.serve.application import Application
    from pairlight.serve.backend import Backend
    from pairlight.serve.connection import Connection
    from pairlight.serve.event_log import EventLog
    from pairlight.serve.work_queue import WorkQueue

    backend, queue, log = Backend(settings), WorkQueue(), EventLog()
    application = Application(settings, backend, queue, log)
    config = uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        http=Connection,
        backlog=_ACCEPTED,
        timeout_graceful_shutdown=settings.drain_seconds,
    )
    host, port = listening.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    server = _Server(config, application, None if on_ready is None else partial(on_ready, url))
    log.write({"event": "listening", "url": url})
    server.run(sockets=[listening, *(listening.dup() for _ in range(_LISTENERS - 1))])
    queue.close()
    backend.close()
    if server.failure is not None:
        print(f"pairlight: {server.failure}", file=sys.stderr)
        return 2
    log.write({"event": "stopped"})
    return 0


def _allow_open_files() -> None:
    low, high = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if high == resource.RLIM_INFINITY else min(_FILES, high)
    if low != resource.RLIM_INFINITY and low < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, high))


class _Server(uvicorn.Server):
    """uvicorn with our signals: SIGTERM and SIGINT drain, SIGHUP reloads."""

    def __init__(
        self, config: uvicorn.Config, application: "Application", on_ready: Callable[[], object] | None
    ) -> None:
        super().__init__(config)
        self.application, self.on_ready = application, on_ready
        self.failure: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        loop.add_signal_handler(signal.SIGHUP, lambda: self._start(self._reload()))
        self._start(self._load())
        self._start(self._return_memory())
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(_BACKLOG)  # uvicorn has one number for this and for how many are accepted at a time

    def _stop(self) -> None:
        self.force_exit = self.should_exit  # the second signal does not wait
        self.should_exit = True

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _load(self) -> None:
        application = self.application
        started = time.perf_counter()
        try:
            await application.queue.run(application.backend.load)
        except Exception as error:
            # Only the message of an InputError is written for users.
            self.failure = str(error) if isinstance(error, InputError) else f"Loading failed: {error!r}."
            self.should_exit = True
            return
        seconds = round(time.perf_counter() - started, 2)
        application.log.write({"event": "ready", "models": list(application.backend.models), "seconds": seconds})
        if self.on_ready is not None:
            await asyncio.to_thread(self.on_ready)

    async def _return_memory(self) -> None:
        while True:
            await asyncio.sleep(_RETURN_SECONDS)
            await self.application.queue.run(return_freed_memory)

    async def _reload(self) -> None:
        for event in await asyncio.to_thread(self.application.backend.reload):
            self.application.metrics.reloads.labels("ok" if event["ok"] else "failed").inc()
            self.application.log.write(event)


class _Workers:
    """Several processes that accept from one socket; one that dies is started again."""

    def __init__(self, settings: ServerSettings, listening: socket.socket) -> None:
        self.settings, self.listening = settings, listening
        self.processes: set[int] = set()
        self.stopping = False

    def run(self) -> int:
        with tempfile.TemporaryDirectory(prefix="pairlight-metrics-") as folder:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, self._forward)
            for _ in range(self.settings.workers):
                self._start()
            worst = 0
            while self.processes:
                process, status = os.wait()
                self.processes.discard(process)
                code = os.waitstatus_to_exitcode(status)
                if code == 2:  # what it should serve cannot be loaded, so that another would fail too
                    worst = code
                    self._forward(signal.SIGTERM, None)
                elif not self.stopping:
                    time.sleep(_RESTART_SECONDS)
                    self._start()
            return worst

    def _start(self) -> None:
        process = os.fork()
        if process:
            self.processes.add(process)
            return
        code = 1
        try:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            code = _run_worker(self.settings, self.listening)
        finally:
            sys.stdout.flush()
            os._exit(code)  # without the cleanup of the parent's objects

    def _forward(self, number: int, _: object) -> None:
        self.stopping = self.stopping or number != signal.SIGHUP
        for process in self.processes:
            os.kill(process, number)
