"""Finds the compiled kernels and picks the widest vectors this CPU has, at first use.

PAIRLIGHT_KERNELS=torch, portable, avx2 or avx512 forces a choice.
"""

import ctypes
import os
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from pairlight.core.errors import InputError

_CHOICES = ("torch", "portable", "avx2", "avx512")
_TYPES = {torch.float32: "f32", torch.float64: "f64"}
_VARIABLE = "PAIRLIGHT_KERNELS"
_REMEDY = "python -m pairlight.kernels.native.build"


@dataclass(frozen=True)
class Status:
    """Which kernels run: native ones of some vector width, or their PyTorch twins; and why."""

    native: bool
    width: str | None
    reason: str


@dataclass(frozen=True)
class Native:
    """The loaded library, seen at one vector width."""

    library: ctypes.CDLL
    width: str

    def lanes(self, dtype: torch.dtype) -> int:
        """How many texts or pairs one block holds."""
        return int(self._function("lanes", dtype)())

    def run(self, kernel: str, dtype: torch.dtype, call: ctypes.Structure) -> None:
        if self._function(kernel, dtype)(ctypes.byref(call)):
            raise MemoryError(f"Not enough memory for the {kernel} kernel: use smaller batches.")

    def _function(self, kernel: str, dtype: torch.dtype) -> "ctypes._NamedFuncPointer":
        return getattr(self.library, f"pairlight_{kernel}_{_TYPES[dtype]}_{self.width}")


def pointers(*names: str) -> list[tuple[str, type[ctypes.c_void_p]]]:
    """Fields of a call that hold addresses."""
    return [(name, ctypes.c_void_p) for name in names]


def numbers(*names: str) -> list[tuple[str, type[ctypes.c_int64]]]:
    """Fields of a call that hold whole numbers."""
    return [(name, ctypes.c_int64) for name in names]


def status() -> Status:
    """Which kernels run on this machine, and why."""
    native, reason = _pick(_choice())
    return Status(native is not None, native.width if native else None, reason)


def native_for(*tensors: Tensor) -> Native | None:
    """The native kernels where they can serve these tensors, else None: the PyTorch twin must."""
    first = tensors[0]
    if first.dtype not in _TYPES or any(x.device.type != "cpu" or x.dtype != first.dtype for x in tensors):
        return None
    return _pick(_choice())[0]


def available() -> list[str]:
    """The widths that are compiled and that this CPU can run, the widest first."""
    from pairlight.kernels.native import build

    library, _ = _library()
    return [] if library is None else [width for width in reversed(build.widths()) if _runs(library, width)]


def _choice() -> str | None:
    choice = os.environ.get(_VARIABLE) or None
    if choice is not None and choice not in _CHOICES:
        raise InputError(f"{_VARIABLE}={choice} is not known: give one of {', '.join(_CHOICES)}, or unset it.")
    return choice


@cache
def _pick(choice: str | None) -> tuple[Native | None, str]:
    if choice == "torch":
        return None, f"{_VARIABLE}=torch asks for the PyTorch twins"
    library, missing = _library()
    if choice is None:
        if library is None:
            return None, missing
        width = available()[0]
        return Native(library, width), f"{width} is the widest this CPU can run"
    if library is None:
        raise InputError(f"{_VARIABLE}={choice} needs compiled kernels, but {missing}.")
    if choice not in available():
        raise InputError(f"{_VARIABLE}={choice} cannot run on this CPU: it can run {', '.join(available())}.")
    return Native(library, choice), f"{_VARIABLE}={choice} asks for it"


@cache
def _library() -> tuple[ctypes.CDLL | None, str]:
    from pairlight.kernels.native import build

    if not build.LIBRARY.exists():
        return None, f"the kernels are not compiled: install a C++ compiler, then run {_REMEDY}"
    try:
        library = ctypes.CDLL(str(build.LIBRARY))
    except OSError as error:
        return None, f"{build.LIBRARY.name} cannot be loaded ({error}): run {_REMEDY}"
    library.pairlight_fingerprint.restype = ctypes.c_char_p
    if build.SOURCES.exists() and library.pairlight_fingerprint().decode() != build.fingerprint():
        return None, f"{build.LIBRARY.name} was compiled from other sources: run {_REMEDY}"
    return library, ""


def _runs(library: ctypes.CDLL, width: str) -> bool:
    return width == "portable" or bool(getattr(library, f"pairlight_cpu_has_{width}")())
