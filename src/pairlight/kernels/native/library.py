"""Loads the compiled kernels on first use and selects the widest SIMD instructions that this CPU supports.

Environment variables:

    PAIRLIGHT_KERNELS=portable, avx2 or avx512    use the kernels of this SIMD width
    PAIRLIGHT_KERNELS=reference                   use the reference implementations instead of the compiled kernels
    PAIRLIGHT_THREADS=n                           number of threads of the NumPy functions; see `threads`
"""

import ctypes
import os
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import DTypeLike

from pairlight.core.errors import InputError

_CHOICES = ("reference", "portable", "avx2", "avx512")
_SUFFIXES = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
_KERNELS = "PAIRLIGHT_KERNELS"
_THREADS = "PAIRLIGHT_THREADS"
_MAX_THREADS = 1024
_BUILD = "python -m pairlight.kernels.native.build"

# What a kernel returns if it does not run out of memory but reads an id outside of its table, or a text outside of all.
_UNKNOWN_ID, _OUTSIDE = 2, 3
UNKNOWN_WORD = "A word has an id that is not in the table of vectors."
OUTSIDE = "The stored texts are damaged: one of them extends beyond all of them. Encode the texts again."

_threads: int | None = None


@dataclass(frozen=True)
class Status:
    """Whether the compiled kernels are used, their SIMD width, and the reason for this choice."""

    native: bool
    width: str | None
    reason: str


@dataclass(frozen=True)
class Native:
    """The functions of the loaded library for one SIMD width."""

    library: ctypes.CDLL
    width: str

    def lanes(self, dtype: DTypeLike) -> int:
        """Number of elements of a SIMD vector, which is the number of texts or pairs of a block."""
        return int(self._function("lanes", dtype)())

    def run(self, kernel: str, dtype: DTypeLike, call: ctypes.Structure) -> None:
        """Run a kernel for float32 or float64 with the arguments in `call`."""
        code = self._function(kernel, dtype)(ctypes.byref(call))
        if code == _UNKNOWN_ID:
            raise InputError(UNKNOWN_WORD)
        if code == _OUTSIDE:
            raise InputError(OUTSIDE)
        if code:
            raise MemoryError(f"The {kernel} kernel could not allocate memory: use smaller batches.")

    def _function(self, kernel: str, dtype: DTypeLike) -> "ctypes._NamedFuncPointer":
        return getattr(self.library, f"pairlight_{kernel}_{_SUFFIXES[np.dtype(dtype)]}_{self.width}")


def native(dtype: DTypeLike) -> Native | None:
    """The compiled kernels for arrays of this dtype, or None where the reference implementation must be used."""
    return _select(_choice())[0] if np.dtype(dtype) in _SUFFIXES else None


def status() -> Status:
    """Which kernels are used on this machine, and why."""
    selected, reason = _select(_choice())
    return Status(selected is not None, selected.width if selected else None, reason)


def available() -> list[str]:
    """The SIMD widths that are compiled and supported by this CPU, the widest first."""
    from pairlight.kernels.native import build

    library, _ = _library()
    return [] if library is None else [width for width in reversed(build.widths()) if _supported(library, width)]


def threads() -> int:
    """Number of threads that the NumPy functions use.

    It is set by `set_threads`, else by the environment variable PAIRLIGHT_THREADS, else it is the number of CPUs that
    this process may use. The PyTorch functions use `torch.get_num_threads()` instead.
    """
    return _default_threads(os.environ.get(_THREADS) or None) if _threads is None else _threads


def set_threads(n: int | None) -> None:
    """Set the number of threads that the NumPy functions use; None restores the default."""
    global _threads
    if n is not None and n < 1:
        raise InputError(f"The number of threads is {n}: use 1 or more, or None for the default.")
    _threads = n


@cache
def _default_threads(setting: str | None) -> int:
    if setting is None:
        # Not every system has CPU affinity.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not setting.isdecimal() or len(setting) > 9 or not 1 <= int(setting) <= _MAX_THREADS:
        raise InputError(
            f"{_THREADS}={setting[:30]} is not a number of threads: use one from 1 to {_MAX_THREADS}, or unset it."
        )
    return int(setting)


def _choice() -> str | None:
    choice = os.environ.get(_KERNELS) or None
    if choice is not None and choice not in _CHOICES:
        raise InputError(f"{_KERNELS}={choice} is not known: use one of {', '.join(_CHOICES)}, or unset it.")
    return choice


@cache
def _select(choice: str | None) -> tuple[Native | None, str]:
    if choice == "reference":
        return None, f"{_KERNELS}=reference selects the reference implementations"
    library, problem = _library()
    if choice is None:
        if library is None:
            return None, problem
        width = available()[0]
        return Native(library, width), f"{width} is the widest that this CPU supports"
    if library is None:
        raise InputError(f"{_KERNELS}={choice} requires compiled kernels, but {problem}.")
    if choice not in available():
        raise InputError(f"{_KERNELS}={choice} is not supported by this CPU: use one of {', '.join(available())}.")
    return Native(library, choice), f"{_KERNELS}={choice} selects it"


@cache
def _library() -> tuple[ctypes.CDLL | None, str]:
    """The loaded library, or None and the reason why there is none."""
    from pairlight.kernels.native import build

    if not build.LIBRARY.exists():
        return None, f"the kernels are not compiled: install a C++ compiler, then run {_BUILD}"
    try:
        library = ctypes.CDLL(str(build.LIBRARY))
    except OSError as error:
        return None, f"{build.LIBRARY.name} cannot be loaded ({error}): run {_BUILD}"
    library.pairlight_fingerprint.restype = ctypes.c_char_p
    if build.SOURCES.exists() and library.pairlight_fingerprint().decode() != build.fingerprint():
        return None, f"{build.LIBRARY.name} was compiled from different sources: run {_BUILD}"
    return library, ""


def _supported(library: ctypes.CDLL, width: str) -> bool:
    return width == "portable" or bool(getattr(library, f"pairlight_cpu_has_{width}")())
