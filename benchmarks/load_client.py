"""A client that loads a server on loopback, bounded in count and time: as fast as it answers, or at a fixed rate."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import numpy as np

MAX_CONNECTIONS = 200  # at a fixed rate; requests that find none free wait, and their time counts


@dataclass
class Load:
    """The answers to a load: how many of each status, and how long each took.

    A request counts from when it was due. Where no connection was free, it was sent later: `sent` counts from then.
    """

    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    due: dict[int, list[float]] = field(default_factory=dict)  # seconds by status
    sent: dict[int, list[float]] = field(default_factory=dict)

    def add(self, status: int, since_due: float, since_sent: float) -> None:
        self.statuses[status] += 1
        self.due.setdefault(status, []).append(since_due)
        self.sent.setdefault(status, []).append(since_sent)

    @property
    def answered(self) -> float:
        """Requests per second with status 200."""
        return self.statuses[200] / self.seconds

    def milliseconds(self, quantile: float, status: int = 200, *, sent: bool = False) -> float | None:
        taken = (self.sent if sent else self.due).get(status)
        return None if not taken else round(1000 * float(np.quantile(taken, quantile)), 2)


class _Connection:
    """One connection that is kept open, and opened again where the server has closed it."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._host, self._port = address.hostname, address.port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes) -> int:
        """The status of the answer, which is read to its end; 0 where the connection fails."""
        is_new = self._streams is None
        try:
            return await self._post(path, body)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            # The server has closed a connection that was idle: as every client, try once with a new one.
            return 0 if is_new else await self.post(path, body)

    async def _post(self, path: str, body: bytes) -> int:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        writer.write(b"POST %b HTTP/1.1\r\nHost: localhost\r\n" % path.encode())
        writer.write(b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
        if b"connection: close" in head:
            self.close()
        return int(head.split(b" ", 2)[1])

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


def as_fast_as_possible(url: str, path: str, bodies: Sequence[bytes], connections: int, seconds: float) -> Load:
    """Every connection sends its next request when the one before is answered."""

    async def run(load: Load) -> None:
        end = time.perf_counter() + seconds

        async def ask(number: int) -> None:
            connection = _Connection(url)
            while (started := time.perf_counter()) < end:
                status = await connection.post(path, bodies[number % len(bodies)])
                taken = time.perf_counter() - started
                load.add(status, taken, taken)
                number += connections
            connection.close()

        await asyncio.gather(*map(ask, range(connections)))

    return _timed(run)


def at_rate(url: str, path: str, bodies: Sequence[bytes], rate: float, seconds: float, *, evenly: bool = False) -> Load:
    """Requests arrive `rate` times per second, whether or not those before are answered: at random times or evenly."""
    count = int(rate * seconds)
    gaps = np.full(count, 1 / rate) if evenly else np.random.default_rng(0).exponential(1 / rate, count)
    due = np.cumsum(gaps).tolist()

    async def run(load: Load) -> None:
        started = time.perf_counter()
        waiting: asyncio.Queue[int] = asyncio.Queue()

        async def ask() -> None:
            connection = _Connection(url)
            while (number := await waiting.get()) >= 0:
                sent = time.perf_counter()
                status = await connection.post(path, bodies[number % len(bodies)])
                now = time.perf_counter()
                load.add(status, now - started - due[number], now - sent)
            connection.close()

        workers = [asyncio.ensure_future(ask()) for _ in range(MAX_CONNECTIONS)]
        for number, when in enumerate(due):
            if (early := when - (time.perf_counter() - started)) > 0:
                await asyncio.sleep(early)
            waiting.put_nowait(number)
        for _ in workers:
            waiting.put_nowait(-1)
        await asyncio.gather(*workers)

    return _timed(run)


def _timed(run: Callable[[Load], Awaitable[None]]) -> Load:
    load = Load()

    async def main() -> None:
        await run(load)

    started = time.perf_counter()
    asyncio.run(main())
    load.seconds = time.perf_counter() - started
    return load
