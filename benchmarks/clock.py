"""How time and memory are taken: CPU time of one thread, sides in turn, medians; memory by its high-water mark."""

import ctypes
import gc
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

Side = Callable[[], float]


def interleaved(sides: Mapping[str, Side], rounds: int) -> dict[str, float]:
    """The median of what each side gives, the sides taking turns: what disturbs one round disturbs all of them."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            taken[name].append(side())
    return {name: statistics.median(values) for name, values in taken.items()}


def seconds(run: Callable[[], object], times: int = 1, clock: Callable[[], float] = time.process_time) -> float:
    """The seconds one run takes, over so many of them."""
    started = clock()
    for _ in range(times):
        run()
    return (clock() - started) / times


def peak_megabytes(run: Callable[[], object]) -> float | None:
    """By how much memory grows while this runs, at its highest; None where the system does not tell."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)  # else what was freed before would be filled again unseen
        Path("/proc/self/clear_refs").write_text("5")  # sets the high-water mark back to now
    except (AttributeError, OSError):
        return None
    before = _status("VmRSS")
    run()
    return (_status("VmHWM") - before) / 1024


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))
