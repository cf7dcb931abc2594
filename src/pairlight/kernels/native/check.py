"""Argument checks: of NumPy arrays, and of the shapes of NumPy arrays and PyTorch tensors alike."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.kernels.native.buffers import contiguous


class Shaped(Protocol):
    """A NumPy array or a PyTorch tensor."""

    @property
    def shape(self) -> tuple[int, ...]: ...


def floating(**arrays: NDArray[Any]) -> None:
    """Check that all arrays have the same floating-point dtype."""
    first_name, first = next(iter(arrays.items()))
    if first.dtype.kind != "f":
        raise InputError(f"{first_name} has dtype {first.dtype}: pass floating-point numbers, such as float32.")
    for name, x in arrays.items():
        if x.dtype != first.dtype:
            raise InputError(
                f"{name} has dtype {x.dtype} and {first_name} has dtype {first.dtype}: convert both to the same dtype."
            )


def right_texts(pairs: int, lefts: int) -> None:
    """Check that every left text has the same number of right texts."""
    if pairs % lefts if lefts else pairs:
        raise InputError(
            f"There are {pairs} right texts for {lefts} left texts: pass the same number of both, or a multiple of "
            "right texts."
        )


def integers(name: str, x: NDArray[Any]) -> NDArray[np.int64]:
    """Check that x has integers, and return it as a contiguous int64 array."""
    if x.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {x.dtype}: pass integers, such as int64.")
    return contiguous(np.asarray(x, np.int64))


def lengths(name: str, x: NDArray[Any], batch: int, longest: int) -> NDArray[np.int64]:
    """Check that x[batch] has integers from 0 to `longest`, and return it as a contiguous int64 array."""
    shape(name, x, batch)
    x = integers(name, x)
    if batch:
        length_range(name, int(x.min()), int(x.max()), longest)
    return x


def length_range(name: str, least: int, most: int, longest: int) -> None:
    """Check that lengths between `least` and `most` are between 0 and `longest`."""
    if least < 0 or most > longest:
        raise InputError(f"{name} has values from {least} to {most}: pass lengths from 0 to {longest}.")


def shape(name: str, x: Shaped, *expected: int) -> None:
    """Check the shape of an array."""
    if tuple(x.shape) != expected:
        raise InputError(f"{name} has shape {list(x.shape)}: pass an array of shape {list(expected)}.")


def dimensions(name: str, x: Shaped, letters: str) -> None:
    """Check the number of dimensions of an array, one letter for each."""
    if len(x.shape) != len(letters):
        raise InputError(
            f"{name} has {len(x.shape)} dimensions: pass an array of {len(letters)}, [{', '.join(letters)}]."
        )
