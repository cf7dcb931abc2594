"""The NumPy function spatial_gru, compared with the PyTorch function and with its reference implementation."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.forcing import forced, in_both_precisions, layouts, on_every_width, on_reference_and_native, threads
from pairlight.core.errors import InputError
from pairlight.kernels.autograd import spatial_gru as autograd
from pairlight.kernels.native.spatial_gru import GruWeights, spatial_gru

Array = NDArray[Any]
sizes = st.tuples(*(st.integers(1, most) for most in (25, 12, 9, 19, 13)))
shapes = st.fixed_dictionaries({"reset": st.booleans(), "tied": st.booleans(), "with_offset": st.booleans()})
options = st.fixed_dictionaries({"reverse": st.booleans(), "activation": st.sampled_from(["tanh", "relu"])})
TOLERANCE = {np.float32: 2e-6, np.float64: 1e-12}


class Example:
    """Random grids with NaN as padding, and random weights."""

    def __init__(
        self,
        B: int,
        C: int,
        L: int,
        R: int,
        D: int,
        seed: int = 0,
        dtype: Any = np.float32,
        reset: bool = True,
        tied: bool = False,
        with_offset: bool = False,
    ) -> None:
        g = np.random.default_rng(seed)
        self.left, self.right = g.integers(0, L + 1, B), g.integers(0, R + 1, B)
        rows = (7 if reset else 4) * (1 if tied else D)
        scale = (3 * D + C) ** -0.5
        sizes = [(rows, 3 * D + C), (rows,), (D, 3 * D + C), (D,)]
        self.weights = GruWeights(*((scale * g.standard_normal(size)).astype(dtype) for size in sizes))
        s = g.standard_normal((B, C, L, R)).astype(dtype)
        above, inside = np.arange(L) < self.left[:, None], np.arange(R) < self.right[:, None]
        self.s = np.where((above[:, :, None] & inside[:, None, :])[:, None], s, np.array(np.nan, dtype))
        self.offset = g.standard_normal((B, C, L)).astype(dtype) if with_offset else None

    def run(self, **options: Any) -> Array:
        return spatial_gru(self.s, self.left, self.right, self.weights, offset=self.offset, **options)

    def with_torch(self, **options: Any) -> Array:
        s, left, right, *weights = map(torch.from_numpy, (self.s, self.left, self.right, *self.weights))
        offset = None if self.offset is None else torch.from_numpy(self.offset)
        return autograd.spatial_gru(s, left, right, GruWeights(*weights), offset=offset, **options).numpy()


@in_both_precisions
@on_every_width
@settings(max_examples=20, deadline=None)
@given(sizes, st.integers(0, 10**6), shapes, options)
def test_the_result_equals_that_of_the_pytorch_function(
    width: str, dtype: Any, size: tuple[int, ...], seed: int, shape: dict[str, bool], how: dict[str, Any]
) -> None:
    example = Example(*size, seed, dtype, **shape)
    with forced(width):
        result = example.run(**how)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, example.with_torch(**how))


@in_both_precisions
@on_every_width
@settings(max_examples=20, deadline=None)
@given(sizes, st.integers(0, 10**6), shapes, options)
def test_the_kernel_equals_the_reference(
    width: str, dtype: Any, size: tuple[int, ...], seed: int, shape: dict[str, bool], how: dict[str, Any]
) -> None:
    example = Example(*size, seed, dtype, **shape)
    with forced(width):
        kernel = example.run(**how)
    with forced("reference"):
        reference = example.run(**how)
    assert reference.dtype == dtype
    scale = max(1, np.abs(reference).max())
    np.testing.assert_allclose(kernel, reference, rtol=0, atol=TOLERANCE[dtype] * scale)


@in_both_precisions
@on_every_width
def test_the_memory_layout_does_not_change_the_result(width: str, dtype: Any) -> None:
    example = Example(5, 3, 4, 6, 2, 1, dtype, with_offset=True)
    with forced(width):
        expected = example.run()
        arrays = [example.s, example.left, example.right, example.offset, *example.weights]
        for s, left, right, offset, *weights in zip(*map(layouts, arrays), strict=True):
            result = spatial_gru(s, left, right, GruWeights(*weights), offset=offset)
            np.testing.assert_array_equal(result, expected)
        for shape in [(1, 3, 4, 6), (5, 1, 4, 6), (5, 3, 1, 6), (5, 3, 4, 1)]:
            same = np.broadcast_to(np.nan_to_num(example.s)[tuple(slice(n) for n in shape)], example.s.shape)
            given = example.left, example.right, example.weights
            np.testing.assert_array_equal(spatial_gru(same, *given), spatial_gru(same.copy(), *given))


def test_the_reference_reads_any_memory_layout() -> None:
    example = Example(5, 3, 4, 6, 2, 1, np.float64, with_offset=True)
    with forced("reference"):
        expected = example.run()
        arrays = [example.s, example.left, example.right, example.offset, *example.weights]
        for s, left, right, offset, *weights in zip(*map(layouts, arrays), strict=True):
            result = spatial_gru(s, left, right, GruWeights(*weights), offset=offset)
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-14)


@on_every_width
def test_the_number_of_threads_does_not_change_the_result(width: str) -> None:
    example = Example(300, 5, 7, 9, 6, 1, with_offset=True)
    with forced(width):
        with threads(1):
            one = example.run()
        with threads(3):
            np.testing.assert_array_equal(example.run(), one)


@on_reference_and_native
def test_large_sums_saturate_and_nan_is_propagated_within_its_pair_only(choice: str) -> None:
    example = Example(9, 2, 3, 4, 3, 5)
    example.left[:], example.right[:] = 3, 4
    example.s = np.nan_to_num(example.s) * np.float32(1e4)
    example.s[4, 0, 0, 0] = np.nan
    with forced(choice):
        result = example.run()
    assert np.isnan(result[4]).all()
    assert (np.abs(np.delete(result, 4, 0)) <= 1).all()


@on_reference_and_native
def test_pairs_without_cells_and_empty_batches_are_valid(choice: str) -> None:
    example = Example(3, 2, 4, 5, 3)
    s, left, right, weights = example.s, example.left, example.right, example.weights
    with forced(choice):
        assert not spatial_gru(s, 0 * left, right, weights).any()
        assert not spatial_gru(s, left, 0 * right, weights).any()
        assert not spatial_gru(s[:, :, :0], 0 * left, right, weights).any()
        assert spatial_gru(s[:, :, :0, :0], 0 * left, 0 * right, weights).shape == (3, 3)
        assert spatial_gru(s[:0], left[:0], right[:0], weights).shape == (0, 3)


def test_invalid_arguments_raise_an_input_error() -> None:
    example = Example(3, 2, 4, 5, 3)
    s, left, right, weights = example.s, example.left, example.right, example.weights
    with pytest.raises(InputError, match="gates has 20 rows and candidate 3: pass 21 rows of gates"):
        spatial_gru(s, left, right, weights._replace(gates=weights.gates[1:]))
    with pytest.raises(InputError, match=r"offset has shape \[3, 2, 5\]: pass an array of shape \[3, 2, 4\]"):
        spatial_gru(s, left, right, weights, offset=s[:, :, 0])
    with pytest.raises(InputError, match="activation 'sine' is not known: use tanh or relu"):
        spatial_gru(s, left, right, weights, activation="sine")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="right_lengths has values from 0 to 9"):
        spatial_gru(s, left, np.array([0, 9, 1]), weights)
    with pytest.raises(InputError, match="gates has dtype float32 and s has dtype float64"):
        spatial_gru(s.astype(float), left, right, weights)
