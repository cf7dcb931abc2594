"""The layers that turn the features of a pair into its score, for kernels that score stored texts."""

import ctypes
from typing import NamedTuple

import numpy as np

from pairlight.kernels.native import check
from pairlight.kernels.native.buffers import Array, address, numbers, pointers

_LANES = 16  # the number of hidden units is padded to the widest vector


class Head(NamedTuple):
    """s = linear·f + constant + out·relu(hidden f + bias), in float32."""

    linear: Array  # [F]
    constant: float
    hidden: Array  # [H,F]; H may be 0
    bias: Array  # [H]
    out: Array  # [H]

    @classmethod
    def of(
        cls,
        linear: Array | None,
        constant: float,
        hidden: Array | None = None,
        bias: Array | None = None,
        out: Array | None = None,
    ) -> "Head":
        """A head with one of its two parts, or both."""
        size = len(linear) if linear is not None else hidden.shape[1] if hidden is not None else 0
        none = np.zeros(0, np.float32)
        return cls(
            np.zeros(size, np.float32) if linear is None else linear,
            constant,
            np.zeros((0, size), np.float32) if hidden is None else hidden,
            none if bias is None else bias,
            none if out is None else out,
        )

    def scaled(self, factor: float) -> "Head":
        """The head whose scores are those of this one times a factor."""
        times = np.float32(factor)
        return self._replace(linear=self.linear * times, constant=self.constant * factor, out=self.out * times)

    def check(self, features: int) -> None:
        """Check that all arrays are float32 and have the shapes for this number of features."""
        check.floating(float32=np.zeros(0, np.float32), linear=self.linear, hidden=self.hidden, bias=self.bias)
        check.floating(float32=np.zeros(0, np.float32), out=self.out)
        check.shape("linear", self.linear, features)
        check.dimensions("hidden", self.hidden, "HF")
        check.shape("hidden", self.hidden, len(self.hidden), features)
        check.shape("bias", self.bias, len(self.hidden))
        check.shape("out", self.out, len(self.hidden))

    def score(self, f: Array) -> Array:
        """The reference implementation.   [B,F] -> [B]"""
        s: Array = f @ self.linear + np.maximum(f @ self.hidden.T + self.bias, 0) @ self.out + np.float32(self.constant)
        return s

    def bound(self, low: Array, high: Array) -> float:
        """The largest score that features between `low` and `high` could have, rounding errors included."""
        linear, hidden, bias, out = (x.astype(np.float64) for x in (self.linear, self.hidden, self.bias, self.out))
        most, least = (
            pick(hidden * low, hidden * high).sum(1) + bias + sign * 1e-6 * _sizes(hidden, bias, low, high)
            for pick, sign in ((np.maximum, 1), (np.minimum, -1))
        )
        network = np.maximum(out * np.maximum(most, 0), out * np.maximum(least, 0))
        terms = np.maximum(linear * low, linear * high)
        size = abs(self.constant) + np.abs(terms).sum() + np.abs(network).sum()
        return float(self.constant + terms.sum() + network.sum() + 1e-6 * size)


def _sizes(hidden: Array, bias: Array, low: Array, high: Array) -> Array:
    sizes: Array = np.abs(hidden) @ np.maximum(np.abs(low), np.abs(high)) + np.abs(bias)
    return sizes


class HeadFields(ctypes.Structure):
    """The same fields in the same order as `Head` in csrc/head.hpp."""

    _fields_ = (
        *pointers("linear", "hidden", "bias", "out"),
        *numbers("features", "units"),
        ("constant", ctypes.c_double),
    )


def packed(head: Head) -> tuple[HeadFields, tuple[Array, ...]]:
    """The fields for a kernel, and the arrays they point to, which must be kept until the kernel returns."""
    hidden, features = head.hidden.shape
    units = -(-hidden // _LANES) * _LANES
    weight, bias, out = (np.zeros(shape, np.float32) for shape in ((features, units), (units,), (units,)))
    weight[:, :hidden], bias[:hidden], out[:hidden] = head.hidden.T, head.bias, head.out
    linear = np.ascontiguousarray(head.linear)
    arrays = linear, weight, bias, out
    return HeadFields(*map(address, arrays), features, units, head.constant), arrays
