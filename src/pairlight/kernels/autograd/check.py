"""Argument checks of PyTorch tensors."""

import torch
from torch import Tensor

from pairlight.core.errors import InputError
from pairlight.kernels.native.check import dimensions, length_range, shape

__all__ = ["dimensions", "floating", "integers", "lengths", "shape"]


def floating(**tensors: Tensor) -> None:
    """Check that all tensors have the same floating-point dtype and device."""
    first_name, first = next(iter(tensors.items()))
    if not first.is_floating_point():
        raise InputError(f"{first_name} has dtype {first.dtype}: pass floating-point numbers, such as torch.float32.")
    for name, x in tensors.items():
        if x.dtype != first.dtype or x.device != first.device:
            raise InputError(
                f"{name} is {x.dtype} on {x.device} and {first_name} is {first.dtype} on {first.device}: "
                "convert both to the same dtype and device."
            )


def integers(name: str, x: Tensor, device: torch.device) -> Tensor:
    """Check that x has integers, and return it as a contiguous int64 tensor."""
    if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        raise InputError(f"{name} has dtype {x.dtype}: pass integers, such as torch.int64.")
    return x.to(device, torch.int64).contiguous()


def lengths(name: str, x: Tensor, batch: int, longest: int, device: torch.device) -> Tensor:
    """Check that x[batch] has integers from 0 to `longest`, and return it as a contiguous int64 tensor."""
    shape(name, x, batch)
    x = integers(name, x, device)
    if batch:
        least, most = x.aminmax()
        length_range(name, int(least), int(most), longest)
    return x
