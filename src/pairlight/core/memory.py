"""Memory settings of the process, and how to tell that memory has run out."""

import ctypes
import os
from functools import cache
from typing import Any

_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8  # parameters of mallopt in the GNU C library
_NEVER = 2**31 - 1
_OUT_OF_MEMORY = ("allocate", "Storage size")  # PyTorch raises a plain RuntimeError when it runs out of memory


@cache
def disable_malloc_trim() -> None:
    """Keep freed memory in this process: zeroing fresh pages took up to a sixth of a training step.

    This affects the whole process, so only the command line and the trainer call it. It does nothing without the GNU C
    library.
    """
    mallopt = _function("mallopt")
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _NEVER)
        mallopt(_MMAP_MAX, 0)


def share_memory_pools(pools: int) -> None:
    """Let all threads of this process share a few pools of memory, for a process that starts threads again and again.

    The GNU C library has eight pools for each core, and threads that end leave freed memory in theirs: changes of an
    index took 200 MB. Call it before threads are started. It does nothing without the GNU C library.
    """
    mallopt = _function("mallopt")
    if mallopt is not None:
        mallopt(_ARENA_MAX, pools)


def return_freed_memory() -> None:
    """Give freed memory back to the system, for a process that runs for long.

    The GNU C library keeps what is freed between blocks that are used: a server grew by a third in ten minutes, and
    never shrank. It does nothing without the GNU C library.
    """
    trim = _function("malloc_trim")
    if trim is not None:
        trim(0)


def _function(name: str) -> Any:
    """A function of the C library; None where it does not exist."""
    return getattr(ctypes.CDLL(None), name, None) if os.name == "posix" else None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory has run out."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in _OUT_OF_MEMORY)
    )
