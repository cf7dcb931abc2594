"""The array libraries that layers run on: PyTorch, with gradients, or NumPy, without PyTorch installed.

Layers get the functions that match their input, as in the Python array API standard:

    xp = array_namespace(u.x)
    return u.with_x(xp.relu(u.x))

Both backend modules define the same functions. `use_backend` selects the library in which parameters are created.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Literal

import numpy as np

Backend = Literal["torch", "numpy"]

_BACKEND: ContextVar[Backend] = ContextVar("backend", default="torch")


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


def _module(name: Backend) -> Any:
    return import_module(f"pairlight.layers.backends.{name}_backend")
