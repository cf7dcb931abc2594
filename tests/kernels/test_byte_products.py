"""Products of a vector with rows of bytes: the kernel next to its reference, at every SIMD width."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.forcing import forced, on_every_width, on_reference_and_native
from pairlight.core.errors import InputError
from pairlight.kernels.native import library
from pairlight.kernels.native.byte_products import MAX_DIM, byte_products, byte_products_reference

sizes = st.tuples(st.integers(0, 40), st.integers(1, 150), st.integers(0, 10**6))


def example(count, dim, seed):
    g = np.random.default_rng(seed)
    rows = g.integers(-128, 128, (count, dim), dtype=np.int8)
    return rows, g.standard_normal(dim).astype(np.float32), g.random(count).astype(np.float32)


@on_every_width
@settings(max_examples=30, deadline=None)
@given(sizes)
def test_the_kernel_equals_the_reference_up_to_the_rounding_of_the_vector(width, size):
    rows, vector, scales = example(*size)
    with forced(width):
        found = byte_products(rows, vector, scales)
    unit = np.abs(vector).max() / 2**15
    most = scales * (np.abs(rows.astype(np.float32)).sum(1) * unit + 1e-3)
    assert (np.abs(found - byte_products_reference(rows, vector, scales)) <= most).all()


@on_every_width
def test_sums_of_the_largest_numbers_do_not_overflow(width):
    rows, vector = np.full((3, MAX_DIM), -128, np.int8), np.full(MAX_DIM, 2.0, np.float32)
    with forced(width):
        found = byte_products(rows, vector, np.ones(3, np.float32))
    np.testing.assert_allclose(found, -128 * 2.0 * MAX_DIM, rtol=1e-6)


@on_every_width
def test_the_number_of_threads_does_not_change_the_result(width):
    rows, vector, scales = example(200_000, 8, 1)
    with forced(width):
        found = []
        for n in (1, 3):
            library.set_threads(n)
            found.append(byte_products(rows, vector, scales))
    library.set_threads(None)
    np.testing.assert_array_equal(*found)


@on_reference_and_native
def test_a_vector_of_zeros_has_products_of_zero(choice):
    rows, vector, scales = example(5, 16, 2)
    with forced(choice):
        assert not byte_products(rows, 0 * vector, scales).any()


def test_other_integers_and_longer_vectors_are_refused():
    rows, vector, scales = example(5, 16, 2)
    with pytest.raises(InputError, match="rows has dtype int16"):
        byte_products(rows.astype(np.int16), vector, scales)
    with pytest.raises(InputError, match="513 columns"):
        byte_products(np.zeros((1, 513), np.int8), np.zeros(513, np.float32), scales[:1])
