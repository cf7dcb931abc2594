"""Drives Chromium through its debugging pipe: opens pages, types, clicks and evaluates expressions."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from explain.browser import CHROMIUM, FLAGS


class Tab:
    """One tab of a browser."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._buffer, self._number, self._session = b"", 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._buffer:
                self._buffer += os.read(self._read, 1 << 16)
            line, self._buffer = self._buffer.split(b"\0", 1)
            answer = json.loads(line)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, url: str) -> None:
        self.value("window.isOldPage = true")
        self.call("Page.navigate", url=url)
        self.wait("window.isOldPage === undefined && document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait(self, expression: str, seconds: float = 20) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.value(expression):
            assert time.monotonic() < end, f"{expression} did not become true: {self.value('document.body.innerText')}"
            time.sleep(0.02)

    def type(self, text: str) -> None:
        for character in text:
            self.call("Input.dispatchKeyEvent", type="char", text=character)

    def press(self, key: str, code: int, text: str = "") -> None:
        for kind in ("keyDown", "keyUp"):
            keys = {"key": key, "windowsVirtualKeyCode": code} | ({"text": text} if text and kind == "keyDown" else {})
            self.call("Input.dispatchKeyEvent", type=kind, **keys)


@contextmanager
def tab(folder: Path, *flags: str) -> Iterator[Tab]:
    to_browser, from_us = os.pipe(), os.pipe()
    command = [
        str(CHROMIUM),
        *FLAGS.split(),
        f"--user-data-dir={folder / 'profile'}",
        "--remote-debugging-pipe",
        *flags,
    ]
    # The browser reads from descriptor 3 and writes to 4.
    script = f'exec "$@" 3<&{to_browser[0]} 4>&{from_us[1]}'
    process = subprocess.Popen(
        ["bash", "-c", script, "browser", *command],
        pass_fds=(to_browser[0], from_us[1]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser[0])
    os.close(from_us[1])
    try:
        yield Tab(to_browser[1], from_us[0])
    finally:
        process.kill()
        process.wait()
        os.close(to_browser[1])
        os.close(from_us[0])
