"""A real server in a process of its own, on a free port of loopback, and requests to it."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

START_SECONDS = 60


@dataclass
class Reply:
    status: int
    headers: Any
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


class RunningServer:
    """The process and its log."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self.process, self.log = process, log
        self.url = self.wait_for("listening")["url"]

    def events(self) -> list[dict[str, Any]]:
        lines = self.log.read_text("utf-8").split("\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith("{")]

    def wait_for(self, name: str, count: int = 1) -> dict[str, Any]:
        """The event of this name, once there are so many of them."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            found = [each for each in self.events() if each["event"] == name]
            if len(found) >= count:
                return found[count - 1]
            assert self.process.poll() is None, self.log.read_text("utf-8")
            time.sleep(0.02)
        raise AssertionError(f"no event {name}: {self.log.read_text('utf-8')}")

    def wait_until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + START_SECONDS
        while not holds():
            assert time.monotonic() < end, self.log.read_text("utf-8")
            time.sleep(0.02)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return Reply(reply.status, reply.headers, reply.read())
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.headers, error.read())

    def post(self, path: str, body: Any) -> Reply:
        return self.send("POST", path, body)


@contextmanager
def running(folder: Path, *arguments: str | Path) -> Iterator[RunningServer]:
    """A server with these arguments, stopped at the end."""
    log = folder / "server.log"
    command = [sys.executable, "-m", "pairlight", "serve", *map(str, arguments), "--port", "0"]
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, text=True)
    try:
        server = RunningServer(process, log)
        server.wait_for("ready")
        yield server
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
