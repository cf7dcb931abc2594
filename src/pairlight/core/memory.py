"""Memory settings of the process, and how to tell that memory has run out."""

import ctypes
import os
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -3, -4, -8  # parameters of mallopt in the GNU C library
_NEVER = 2**31 - 1
_MMAP_MAX_DEFAULT = 65_536
_MAPPED, _KEPT = 2**24, 2**26  # bytes: larger blocks are returned at once, and others when more than this is free
_OUT_OF_MEMORY = ("allocate", "Storage size")  # PyTorch raises a plain RuntimeError when it runs out of memory


@cache
def disable_malloc_trim() -> None:
    """Keep freed memory in this process: zeroing fresh pages took up to a sixth of a training step.

    This affects the whole process, so only the command line and the trainer call it. It does nothing without the GNU C
    library.
    """
    _set_malloc({_TRIM_THRESHOLD: _NEVER, _MMAP_MAX: 0})


def return_freed_memory() -> None:
    """Give freed memory back to the system, for a process that runs for long; call it before threads are started.

    By default, every thread takes memory from a pool of its own, and blocks of up to 32 MB stay in the process when
    they are freed: a server with several threads grew by a third in ten minutes, and never shrank. It does nothing
    without the GNU C library.
    """
    _set_malloc({_ARENA_MAX: 1, _MMAP_MAX: _MMAP_MAX_DEFAULT, _MMAP_THRESHOLD: _MAPPED, _TRIM_THRESHOLD: _KEPT})


def _set_malloc(values: dict[int, int]) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        for parameter, value in values.items():
            mallopt(parameter, value)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory has run out."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in _OUT_OF_MEMORY)
    )
