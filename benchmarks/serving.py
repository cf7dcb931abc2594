"""Measures the server: requests per second on one core, next to a cross-encoder's, and what it does under overload.

Every server runs in a process of its own on one core, and the client on the others. Where other programs use the core
too, requests per second of CPU time say more than those per second, so both are reported.
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from benchmarks import cross_encoder_server
from benchmarks.load_client import Load, as_fast_as_possible, at_rate
from benchmarks.workloads import real_text_pairs
from pairlight import Matcher

TEXTS, WORDS = 100, 30  # of a request, of a text
BODIES = 40  # different requests
CONNECTIONS = 4
OVERLOAD = 10  # times what is sustained
OURS = ("mv-lstm", "qa-small")
PEER = f"FastAPI and CrossEncoder, {cross_encoder_server.SHAPE}"
NEEDED = ("fastapi", "sentence_transformers")
_START_SECONDS = 120
_HERTZ = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Server:
    """A running server."""

    url: str
    process: "subprocess.Popen[bytes]"

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _HERTZ

    def megabytes(self) -> float:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def serving(rounds: int, say: Callable[[str], None], seconds: float = 5.0) -> list[dict[str, Any]]:
    """Requests of one query with 100 texts of 30 words; the servers take turns."""
    found = [word for text in real_text_pairs(2000).texts for word in text.split()]
    words = list(islice(cycle(found), TEXTS * BODIES * WORDS))
    texts = [" ".join(words[at : at + WORDS]) for at in range(0, len(words), WORDS)]
    bodies = [
        json.dumps({"query": " ".join(texts[at].split()[:8]), "texts": texts[at : at + TEXTS]}).encode()
        for at in range(0, len(texts), TEXTS)
    ]
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    with TemporaryDirectory() as folder, ExitStack() as stack:
        servers = {name: stack.enter_context(_ours(name, Path(folder))) for name in OURS}
        if not absent:
            servers[PEER] = stack.enter_context(_peer(Path(folder, "cross-encoder"), words))
        stack.enter_context(_client_core())
        for name, server in servers.items():
            _answers(server, bodies[0])
            as_fast_as_possible(server.url, "/rerank", bodies, CONNECTIONS, seconds / 2)
            say(f"serving: {name} is warm")
        measured: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
        for _ in range(rounds):
            for name, server in servers.items():
                measured[name].append(_sustained(server, bodies, seconds))
        rows: list[dict[str, Any]] = []
        for name, server in servers.items():
            best, per_cpu = (median(column) for column in zip(*measured[name], strict=True))
            row = {"side": name, "requests": best, "requests_per_cpu_second": per_cpu}
            if name in OURS:
                row |= _under_load(server, bodies, best, 2 * seconds) | _overloaded(server, bodies, best, seconds)
            rows.append(row)
            say(f"serving: {row}")
    return rows + (
        [{"skipped": f"{', '.join(absent)} not installed: pip install 'pairlight[bench]'"}] if absent else []
    )


def _sustained(server: Server, bodies: list[bytes], seconds: float) -> tuple[float, float]:
    """Requests answered per second, and per second of the server's CPU time."""
    before = server.cpu_seconds()
    load = as_fast_as_possible(server.url, "/rerank", bodies, CONNECTIONS, seconds)
    if set(load.statuses) != {200}:
        raise RuntimeError(f"Not all requests were answered: {load.statuses}.")
    return load.answered, load.statuses[200] / (server.cpu_seconds() - before)


def _under_load(server: Server, bodies: list[bytes], best: float, seconds: float) -> dict[str, Any]:
    """The time of an answer at 80 % load, with requests at random times and with evenly spaced ones."""
    at_random, evenly = (
        at_rate(server.url, "/rerank", bodies, 0.8 * best, seconds, evenly=each) for each in (False, True)
    )
    return {
        "p50_ms": at_random.milliseconds(0.5),
        "p99_ms": at_random.milliseconds(0.99),
        "even_p50_ms": evenly.milliseconds(0.5),
        "even_p99_ms": evenly.milliseconds(0.99),
    }


def _overloaded(server: Server, bodies: list[bytes], best: float, seconds: float) -> dict[str, Any]:
    memory = server.megabytes()
    load = at_rate(server.url, "/rerank", bodies, OVERLOAD * best, seconds)
    return {
        "overload_offered": sum(load.statuses.values()) / load.seconds,
        "overload_answered": load.answered,
        "overload_refused_p50_ms": load.milliseconds(0.5, 429, sent=True),
        "overload_refused_p99_ms": load.milliseconds(0.99, 429, sent=True),
        "overload_memory": server.megabytes() / memory,
        "overload_other_statuses": _others(load),
    }


def _others(load: Load) -> dict[str, int]:
    """Answers that should not be there; 0 is a connection that failed."""
    return {str(status): count for status, count in load.statuses.items() if status not in (200, 429)}


@contextmanager
def _ours(name: str, folder: Path) -> Iterator[Server]:
    model = name
    if name == "mv-lstm":
        pairs = real_text_pairs(500)
        matcher = Matcher("mv-lstm").fit(pairs, dev=pairs, init=None, baseline=False, progress=False, epochs=1)
        matcher.save(folder / name)
        model = str(folder / name)
    port = _free_port()
    with _started(["-m", "pairlight", "serve", model, "--port", str(port)], port) as server:
        yield server


@contextmanager
def _peer(folder: Path, words: list[str]) -> Iterator[Server]:
    cross_encoder_server.save_model(folder, words)
    port = _free_port()
    with _started(["-m", "benchmarks.cross_encoder_server", str(folder), str(port)], port) as server:
        yield server


@contextmanager
def _started(arguments: list[str], port: int) -> Iterator[Server]:
    core = min(os.sched_getaffinity(0))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.DEVNULL,
        env=environment,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    try:
        yield Server(f"http://127.0.0.1:{port}", process)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _client_core() -> Iterator[None]:
    """Run this process on the cores that no server uses, if there are any."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores - {min(cores)} or cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _answers(server: Server, body: bytes) -> None:
    """Wait until the server answers."""
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            with urlopen(Request(f"{server.url}/rerank", body, {"Content-Type": "application/json"}), timeout=60):
                return
        except (URLError, OSError):
            if server.process.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.2)
