"""Passes PyTorch tensors to the native kernels, which take NumPy arrays."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pairlight.kernels.native import library
from pairlight.kernels.native.library import Native

_DTYPES = {torch.float32: np.float32, torch.float64: np.float64}


def native_for(x: Tensor) -> Native | None:
    """The native kernels for tensors of this dtype and device, or None where the PyTorch reference must be used."""
    dtype = _DTYPES.get(x.dtype)
    return None if dtype is None or x.device.type != "cpu" else library.native(dtype)


def array(x: Tensor) -> NDArray[Any]:
    """The memory of a tensor as a NumPy array, without a copy."""
    return (x.detach() if x.requires_grad else x).numpy()
