"""A long mix of requests, valid and malformed, from slow and disconnecting clients: memory stays, scores too."""

import json
import os
import random
import socket
import statistics
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from serve.conftest import make_index, train
from serve.server import running

pytestmark = pytest.mark.hard
SECONDS = float(os.environ.get("PAIRLIGHT_SOAK_SECONDS", "600"))
GROWTH = 1.1  # of memory from the second quarter of the time to the last
CLIENTS = 6
ANSWERS = {200, 400, 404, 405, 413, 422}
WORDS = [f"word{n}" for n in range(20_000)] + [
    "parcel",
    "returns",
    "page",
    "password",
    "你好",
    "👍",
    "naïve",
    "x" * 3000,
]
FIXED = {"query": "where is my parcel", "texts": ["the tracking page", "returns are free"], "raw_scores": True}


def text(rng: random.Random, most: int = 60) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))


def valid(rng: random.Random) -> tuple[str, str, bytes]:
    """The method, the path and the body of a request that is answered."""
    query, texts = text(rng, 10), [text(rng) for _ in range(rng.randint(1, 30))]
    document = str(rng.randrange(50))
    bodies = [
        ("POST", "/rerank", {"query": query, "texts": texts}),
        ("POST", "/v2/rerank", {"query": query, "documents": texts[:3], "relevant_spans": True}),
        ("POST", "/score", {"text_1": query, "text_2": texts}),
        ("POST", "/predict", {"inputs": [[query, each] for each in texts]}),
        ("POST", "/search", {"query": query}),
        ("POST", "/explain", {"query": query, "texts": texts[:2]}),
        ("PUT", "/documents", {"documents": [{"id": document, "text": texts[0]}]}),
        ("DELETE", "/documents", {"ids": [document]}),
        *[("GET", path, None) for path in ("/", "/?q=parcel", "/info", "/metrics", "/openapi.json", "/docs")],
    ]
    method, path, body = rng.choice(bodies)
    return method, path, b"" if body is None else json.dumps(body).encode()


def malformed(rng: random.Random) -> bytes:
    """A whole request that is refused."""
    _, path, body = valid(rng)
    broken = rng.choice(
        [b"{", b"[]", b"\xff\xfe", b'{"query": 1}', body[: len(body) // 2], b"[" * 5000, b"x" * 3_000_000]
    )
    return rng.choice(
        [
            request("POST", path, broken),
            request("POST", "/rerank", json.dumps({"query": "", "texts": []}).encode()),
            request("BREW", "/rerank", b""),
            request("GET", f"/{'x' * 5000}", b""),
            b"not HTTP at all\r\n\r\n",
            b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        ]
    )


def request(method: str, path: str, body: bytes) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def exchange(url: str, content: bytes, *, pause: float = 0.0, read: bool = True) -> int:
    """Send a request, in pieces where there is a pause, and return the status; 0 if the answer is not read."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        try:
            for at in range(0, len(content), size := 200 if pause else max(1, len(content))):
                connection.sendall(content[at : at + size])
                time.sleep(pause)
        except OSError:
            return 0  # the server has refused and closed before it has read everything
        if not read:
            return 0
        received = connection.makefile("rb").read()
    head, _, body = received.partition(b"\r\n\r\n")
    kind = head.lower().partition(b"content-type: ")[2].partition(b"\r\n")[0]
    if kind == b"application/json":
        json.loads(body)
    else:
        assert kind.startswith(b"text/"), received[:200]
        assert head.startswith(b"HTTP/1.1 200"), received[:200]
    return int(head.split()[1])


def client(url: str, seed: int, end: float, statuses: Counter, problems: list) -> None:
    rng = random.Random(seed)
    while time.monotonic() < end and not problems:
        try:
            method, path, body = valid(rng)
            kind = rng.random()
            if kind < 0.6:
                statuses[exchange(url, request(method, path, body))] += 1
            elif kind < 0.8:
                statuses[exchange(url, malformed(rng))] += 1
            elif kind < 0.9:  # gone before the answer, or before the whole body
                part = request(method, path, body)
                exchange(url, part[: rng.randint(0, len(part))], read=False)
            else:
                exchange(url, request(method, path, body)[:2000], pause=0.02, read=False)
        except ConnectionResetError:
            statuses["reset"] += 1  # of a body that is too large
        except Exception as error:
            problems.append(repr(error))


def megabytes(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def soak(folder: Path, seconds: float, growth: float | None = GROWTH) -> None:
    models = [train("late-interaction", folder / "late"), train("mv-lstm", folder / "mv")]
    index = make_index(folder / "index", models[0])
    with running(folder, *models, "--index", index) as server:
        before = server.post("/rerank", FIXED).json
        statuses, problems = Counter(), []
        started = time.monotonic()
        arguments = [(server.url, seed, started + seconds, statuses, problems) for seed in range(CLIENTS)]
        clients = [threading.Thread(target=client, args=each) for each in arguments]
        for each in clients:
            each.start()
        memory = []
        while any(each.is_alive() for each in clients):
            memory.append(megabytes(server.process.pid))
            time.sleep(1)
        assert not problems, problems
        assert not set(statuses) - {0, *ANSWERS, "reset"}, statuses
        assert statuses[200], statuses
        assert not [each for each in server.events() if each["event"] == "error"]
        after = server.post("/rerank", FIXED).json
        assert [each["index"] for each in after] == [each["index"] for each in before]
        assert [each["score"] for each in after] == pytest.approx([each["score"] for each in before], abs=1e-6)
        assert b"pairlight_waiting_requests 0.0" in server.send("GET", "/metrics").content
        if growth is not None:  # a few seconds neither fill the caches nor see every kind of request
            assert set(statuses) | ({413} if statuses["reset"] else set()) >= ANSWERS, statuses
            quarter = len(memory) // 4  # medians, because a single request may need much for a moment
            warm, end = (statistics.median(part) for part in (memory[quarter : 2 * quarter], memory[-quarter:]))
            print(f"{sum(statuses.values()):,} requests, medians of memory {warm:.0f} and {end:.0f} MB")
            assert end < growth * warm, (warm, end, memory[:: max(1, quarter // 5)], statuses)


def test_ten_minutes_of_mixed_requests_change_neither_memory_nor_scores(tmp_path):
    soak(tmp_path, SECONDS)
