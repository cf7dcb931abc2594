"""Memory that was taken once is kept: pages that the system has to clear anew cost up to a sixth of a training step."""

import ctypes
import os
from functools import cache

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of mallopt in GNU's C library
_NEVER = 2**31 - 1


@cache
def keep_memory() -> None:
    """From now on, what is freed in this process stays with it for the next step; a no-op without GNU's C library."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _NEVER)
        mallopt(_MMAP_MAX, 0)
