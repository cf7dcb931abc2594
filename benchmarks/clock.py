"""Measures time and memory: CPU time of one thread, alternating sides, medians, and peak memory."""

import ctypes
import gc
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

Side = Callable[[], float]


def interleaved(sides: Mapping[str, Side], rounds: int) -> dict[str, float]:
    """The median of what each side returns. Sides take turns, so that a disturbance affects all of them."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            taken[name].append(side())
    return {name: statistics.median(values) for name, values in taken.items()}


def seconds(run: Callable[[], object], times: int = 1, clock: Callable[[], float] = time.process_time) -> float:
    """The mean duration of a call."""
    started = clock()
    for _ in range(times):
        run()
    return (clock() - started) / times


def peak_megabytes(run: Callable[[], object]) -> float | None:
    """How much memory a call needs at its peak; None if the system does not report it."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)  # otherwise memory that was freed before is reused unnoticed
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak to the current size
    except (AttributeError, OSError):
        return None
    before = _status("VmRSS")
    run()
    return (_status("VmHWM") - before) / 1024


def own_megabytes() -> float:
    """The memory of this process now, without mapped files; 0 if the system does not report it."""
    try:
        return _status("RssAnon") / 1024
    except (OSError, StopIteration):
        return 0.0


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))
