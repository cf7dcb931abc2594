"""Both backends define the same functions, with the same results."""

import inspect

import numpy as np
import pytest
import torch

from pairlight.layers.backends import array_namespace, numpy_backend, parameter_namespace, torch_backend, use_backend

rng = np.random.default_rng(0)
X = rng.normal(size=(2, 3, 5, 4)).astype(np.float32)
W = rng.normal(size=(6, 3, 3, 2)).astype(np.float32)
BIAS = rng.normal(size=6).astype(np.float32)
IDS = rng.integers(0, 5, (2, 7))
COLUMNS = IDS[:, :6].reshape(2, 3, 2) % 4
MASK = X > 0

CALLS = {
    "cat": lambda xp, x: xp.cat([x(X), x(X)], 1),
    "tile": lambda xp, x: xp.tile(x(X), 3),
    "pad": lambda xp, x: xp.pad(x(X), [(1, 2), (0, 3)]),
    "pad with negative widths": lambda xp, x: xp.pad(x(X), [(-1, 2), (1, -2)]),
    "transpose": lambda xp, x: xp.transpose(x(X), 1, 3),
    "permute": lambda xp, x: xp.permute(x(X), (0, 2, 3, 1)),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x(X), x(rng_indices()), 3),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x(BIAS), (2, 3, 6)),
    "broadcast_to keeping a size": lambda xp, x: xp.broadcast_to(x(X[:, :1]), (-1, 3, -1, 4)),
    "cast": lambda xp, x: xp.cast(x(MASK), x(X)),
    "where": lambda xp, x: xp.where(x(MASK), x(X), 0),
    "where with a number first": lambda xp, x: xp.where(x(MASK), -float("inf"), x(X)),
    "where with ids": lambda xp, x: xp.where(x(IDS) > 2, 1, x(IDS)),
    "minimum": lambda xp, x: xp.minimum(x(IDS), x(IDS[::-1].copy())),
    "relu": lambda xp, x: xp.relu(x(X)),
    "tanh": lambda xp, x: xp.tanh(x(X)),
    "exp": lambda xp, x: xp.exp(x(X)),
    "clip": lambda xp, x: xp.clip(x(X), -0.5, 0.5),
    "clip below": lambda xp, x: xp.clip(x(X), 0.1),
    "clip above": lambda xp, x: xp.clip(x(IDS), high=3),
    "softmax": lambda xp, x: xp.softmax(x(X), 1),
    "normalize": lambda xp, x: xp.normalize(x(np.concatenate([X, 0 * X])), 1e-8),
    "distances": lambda xp, x: xp.distances(x(X[:, 0]), x(X[:, 1])),
    "dropout": lambda xp, x: xp.dropout(x(X), 0.5, False),
    "linear": lambda xp, x: xp.linear(x(X), x(W[:, 0, 0, :].repeat(2, 1)), x(BIAS)),
    "linear without bias": lambda xp, x: xp.linear(x(X), x(W[:, 0, 0, :].repeat(2, 1))),
    "einsum": lambda xp, x: xp.einsum("bcij,bcik->bcjk", x(X), x(X)),
    "matmul": lambda xp, x: xp.matmul(x(X), x(X[:, :1, :4])),
    "matmul with one matrix": lambda xp, x: xp.matmul(x(X), x(np.ascontiguousarray(X[0, 0].T))),
    "matmul of every second element": lambda xp, x: xp.matmul(x(X)[..., ::2], x(X)[:, :1, ::2, ::3][..., :2, :]),
    "segment_max": lambda xp, x: xp.segment_max(
        x(X), x(IDS[:, :6].reshape(2, 2, 3)), x(IDS[:, :6].reshape(2, 3, 2) % 4)
    ),
    "topk": lambda xp, x: xp.topk(x(X), 3),
    "topk of all": lambda xp, x: xp.topk(x(X), 4),
    "argmax": lambda xp, x: xp.argmax(x(X)),
    "embedding": lambda xp, x: xp.embedding(x(X[0, 0]), x(IDS), 0, False),
    "rows": lambda xp, x: xp.rows(x(X[0, 0]), x(IDS)),
    "conv2d": lambda xp, x: xp.conv2d(x(X), x(W), x(BIAS)),
    "conv2d with padding": lambda xp, x: xp.conv2d(x(X), x(W), None, 2),
    "max_pool2d": lambda xp, x: xp.max_pool2d(x(X), 2),
    "pad with a value": lambda xp, x: xp.pad(x(X), [(1, 2), (0, 3)], -float("inf")),
    "repeat": lambda xp, x: xp.repeat(x(X), 3, 1),
    "repeat by different numbers": lambda xp, x: xp.repeat(x(BIAS), x(np.array([0, 1, 2, 0, 3, 1])), 0),
    "stack": lambda xp, x: xp.stack([x(X), x(X)], 1),
    "sigmoid": lambda xp, x: xp.sigmoid(x(100 * X)),
    "maximum": lambda xp, x: xp.maximum(x(IDS), x(IDS[::-1].copy())),
    "log": lambda xp, x: xp.log(x(abs(X))),
    "log10": lambda xp, x: xp.log10(x(abs(X))),
    "double": lambda xp, x: xp.double(x(IDS)),
    "truncate": lambda xp, x: xp.truncate(x(10 * X)),
    "topk_indices": lambda xp, x: xp.topk_indices(x(X), 3),
    "argsort": lambda xp, x: xp.argsort(x(IDS)),
    "nonzero": lambda xp, x: xp.nonzero(x(MASK))[1],
    "embedding_sums": lambda xp, x: xp.embedding_sums(x(X[0, 0]), x(IDS), 0),
    "occurs": lambda xp, x: xp.occurs(x(IDS), 6),
    "sums_by_index": lambda xp, x: xp.sums_by_index(x(IDS[:, :4]), x(X[:, 0, 0]), 6),
    "max_pool1d": lambda xp, x: xp.max_pool1d(x(X[0]), 2),
    "add_product": lambda xp, x: xp.add_product(x(BIAS), x(X), x(W[:, 0, 0, :].repeat(2, 1))),
    "zeros_like_mask": lambda xp, x: xp.zeros_like_mask(x(MASK)),
    "from_numpy": lambda xp, x: xp.from_numpy(X, x(IDS)),
    "arange": lambda xp, x: xp.arange(5, x(X)),
    "ones_like_ids": lambda xp, x: xp.ones_like_ids(x(IDS)),
    "new_buffer": lambda xp, x: xp.new_buffer((2, 3), 1.5, "float32"),
}


def rng_indices() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 4, (2, 3, 5, 2))


def functions(module) -> set[str]:
    found = {name for name, value in vars(module).items() if inspect.isroutine(value) or isinstance(value, np.ufunc)}
    return {name for name in found if not name.startswith("_")}


def test_both_backends_define_the_same_functions():
    assert functions(numpy_backend) == functions(torch_backend)
    assert hasattr(numpy_backend, "no_grad")  # a class, in both
    assert hasattr(torch_backend, "no_grad")


@pytest.mark.parametrize("name", CALLS)
def test_a_function_gives_the_same_result_on_both_backends(name):
    expected = CALLS[name](torch_backend, torch.from_numpy).numpy()
    got = CALLS[name](numpy_backend, lambda array: array)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_the_namespace_of_an_array_is_that_of_its_library():
    assert array_namespace(X) is numpy_backend
    assert array_namespace(torch.from_numpy(X)) is torch_backend


def test_parameters_are_created_in_the_chosen_library():
    assert parameter_namespace() is torch_backend
    with use_backend("numpy"):
        assert parameter_namespace() is numpy_backend
    assert parameter_namespace() is torch_backend
