"""The array libraries that layers run on: PyTorch, with gradients, or NumPy, without PyTorch installed.

Layers get the functions that match their input, as in the Python array API standard:

    xp = array_namespace(u.x)
    return u.with_x(xp.relu(u.x))

Both backend modules define the same functions. `use_backend` selects the library in which parameters are created.

Environment variable:

    PAIRLIGHT_RUNTIME=light or torch    the library that trained models run on; see `inference_backend`
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from pairlight.core.errors import InputError

Backend = Literal["torch", "numpy"]

_RUNTIME = "PAIRLIGHT_RUNTIME"
_RUNTIMES: dict[str, Backend] = {"light": "numpy", "torch": "torch"}
_BACKEND: ContextVar[Backend] = ContextVar("backend", default="torch")
_PREFERRED: ContextVar[Backend] = ContextVar("preferred", default="torch")


def inference_backend() -> Backend:
    """The library that trained models run on: that of PAIRLIGHT_RUNTIME, else the preferred one, PyTorch by default.

    It is NumPy where PyTorch is not installed.
    """
    choice = os.environ.get(_RUNTIME) or None
    if choice not in (None, *_RUNTIMES):
        raise InputError(f"{_RUNTIME}={choice} is not known: use {' or '.join(_RUNTIMES)}, or unset it.")
    return _RUNTIMES[choice] if choice else _PREFERRED.get() if find_spec("torch") else "numpy"


@contextmanager
def prefer_backend(name: Backend) -> Iterator[None]:
    """Run trained models on this library for the duration of the block, unless PAIRLIGHT_RUNTIME names another."""
    token = _PREFERRED.set(name)
    try:
        yield
    finally:
        _PREFERRED.reset(token)


def threads() -> int:
    """The number of threads that trained models use."""
    n: int = _module(inference_backend()).threads()
    return n


def set_threads(n: int, backend: Backend | None = None) -> None:
    """Set the number of threads that trained models use."""
    _module(backend or inference_backend()).set_threads(n)


def array_namespace(x: Any) -> Any:
    """The functions for arrays of this type."""
    return _module("numpy" if isinstance(x, np.ndarray) else "torch")


def parameter_namespace() -> Any:
    """The functions of the library in which parameters are created."""
    return _module(_BACKEND.get())


@contextmanager
def use_backend(name: Backend) -> Iterator[None]:
    """Create parameters in this library for the duration of the block."""
    token = _BACKEND.set(name)
    try:
        yield
    finally:
        _BACKEND.reset(token)


@cache
def _module(name: Backend) -> Any:
    return import_module(f"pairlight.layers.backends.{name}_backend")
