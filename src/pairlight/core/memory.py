"""Memory settings of the process, and how to tell that memory has run out."""

import ctypes
import os
from functools import cache

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # parameters of mallopt in the GNU C library
_NEVER = 2**31 - 1
_OUT_OF_MEMORY = ("allocate", "Storage size")  # PyTorch raises a plain RuntimeError when it runs out of memory


@cache
def disable_malloc_trim() -> None:
    """Keep freed memory in this process: zeroing fresh pages took up to a sixth of a training step.

    This affects the whole process, so only the command line and the trainer call it. It does nothing without the GNU C
    library.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _NEVER)
        mallopt(_MMAP_MAX, 0)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory has run out."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in _OUT_OF_MEMORY)
    )
