"""Delays Ctrl-C while files that belong together are written."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def delay_interrupt() -> Iterator[None]:
    """Hold Ctrl-C back for the duration of the block; it takes effect right after."""
    handler = signal.getsignal(signal.SIGINT)
    # Only the main thread receives signals; a signal that is ignored, or kills the process, stays as it is.
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    pending: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: pending.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if pending:
            handler(*pending[0])
