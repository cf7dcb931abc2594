"""What every kernel demands of its arguments, said in one line where it is not so."""

import torch
from torch import Tensor

from pairlight.core.errors import InputError


def floating(**tensors: Tensor) -> None:
    """All tensors are of one floating type, on one device."""
    first_name, first = next(iter(tensors.items()))
    if not first.is_floating_point():
        raise InputError(f"{first_name} is {first.dtype}: give floating-point numbers.")
    for name, x in tensors.items():
        if x.dtype != first.dtype or x.device != first.device:
            raise InputError(
                f"{name} is {x.dtype} on {x.device} and {first_name} is {first.dtype} on {first.device}: "
                "give both the same type and device."
            )


def shape(name: str, x: Tensor, *wanted: int) -> None:
    if tuple(x.shape) != wanted:
        raise InputError(f"{name} has shape {list(x.shape)}: give {list(wanted)}.")


def dimensions(name: str, x: Tensor, letters: str) -> None:
    if x.dim() != len(letters):
        raise InputError(f"{name} has {x.dim()} dimensions: give {len(letters)}, [{', '.join(letters)}].")


def lengths(name: str, x: Tensor, batch: int, longest: int, device: torch.device) -> Tensor:
    """Whole numbers from 0 to `longest`, one for each of the batch; as the kernels read them."""
    shape(name, x, batch)
    if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        raise InputError(f"{name} are {x.dtype}: give whole numbers.")
    x = x.to(device, torch.int64).contiguous()
    if batch:
        least, most = (int(bound) for bound in x.aminmax())
        if least < 0 or most > longest:
            raise InputError(f"{name} go from {least} to {most}: give numbers from 0 to {longest}.")
    return x
