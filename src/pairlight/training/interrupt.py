"""Ctrl-C waits until what must stay together is done."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold Ctrl-C back for the time of the block; it is heard right after."""
    heard = signal.getsignal(signal.SIGINT)
    # Only the main thread hears signals; what the process ignores, or dies of, stays as it is.
    if threading.current_thread() is not threading.main_thread() or not callable(heard):
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: waiting.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard)
        if waiting:
            heard(*waiting[0])
