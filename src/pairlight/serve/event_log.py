"""The log of a server: one JSON object in each line, never with texts."""

import sys
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson


class EventLog:
    """Writes events to standard output."""

    def __init__(self, file: TextIO | None = None) -> None:
        self.file = file or sys.stdout

    def write(self, event: dict[str, Any]) -> None:
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.file.write(orjson.dumps({"time": time, **event}).decode() + "\n")
        self.file.flush()
