"""Scores one query with stored texts at several sizes, next to plain NumPy and to MaxSim in PyTorch, on one core."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.clock import interleaved, seconds
from pairlight.kernels.native import library
from pairlight.kernels.native.head import Head
from pairlight.kernels.native.pair_features import WordTable
from pairlight.kernels.native.stored_kmax import StoredRows, stored_kmax
from pairlight.kernels.native.stored_words import StoredWords, WordScorer, text_products
from pairlight.layers.subwords import static_units
from pairlight.layers.types import Tokens
from pairlight.text.subwords import subword_vectors

LEFT, RIGHT, DIM, CHANNELS, K = 10, 30, 100, 4, 5  # words of the query and of a text, of mv-lstm
SUBWORDS, SUBWORD_K, HIDDEN = 20_000, 10, 50
GOALS = {"cosine, fp32": 2.5, "tensor, fp32": 10.0, "late-interaction": 2.5}  # ms for 1,000 texts on AVX2

Rows = list[dict[str, Any]]
Array = NDArray[Any]


def stored_speed(sizes: tuple[int, ...], rounds: int, say: Callable[[str], None]) -> Rows:
    """Milliseconds of CPU time for one query and all texts, and how many times faster than MaxSim in PyTorch.

    MaxSim (the mean over left words of the largest cosine) is that of PyLate: one product of all vectors, then a
    maximum and a sum. It is compared on the same vectors, with less to compute: no k largest cells and no layers.
    """
    rows = []
    for texts in sizes:
        say(f"Stored texts, 1 x {texts:,}")
        sides = _sides(texts)
        times = max(1, 20_000 // texts)
        for run in sides.values():
            run()
        taken = interleaved({name: partial(seconds, run, times) for name, run in sides.items()}, 2 * rounds + 1)
        for name, each in taken.items():
            peer = (
                "MaxSim in PyTorch, subwords" if "late" in name or "subwords" in name else "MaxSim in PyTorch, mv-lstm"
            )
            row = {"texts": texts, "side": name, "ms": 1000 * each, "times_maxsim": taken[peer] / each}
            rows.append(row | ({"goal_ms": GOALS[name] * texts / 1000} if name in GOALS else {}))
    return rows


def _sides(texts: int) -> dict[str, Callable[[], object]]:
    library.set_threads(1)
    g = np.random.default_rng(0)
    start = np.arange(texts + 1) * RIGHT
    x = g.standard_normal((texts * RIGHT, DIM), np.float32) * np.float32(0.3)
    lengths = np.sqrt((x**2).sum(1))
    scale = (np.abs(x).max(1) / 127).astype(np.float32)
    whole = StoredRows(x, start, None, (1 / lengths)[:, None])
    small = StoredRows(np.rint(x / scale[:, None]).astype(np.int8), start, scale, (scale / lengths)[:, None])
    cosine, tensor = (g.standard_normal((1, LEFT, c, DIM)).astype(np.float32) for c in (1, CHANNELS))
    offset = g.standard_normal((1, LEFT, CHANNELS)).astype(np.float32)
    heads = {c: _head(g, K * c, HIDDEN) for c in (1, CHANNELS)}
    sides: dict[str, Callable[[], object]] = {}
    for name, rows in (("fp32", whole), ("fp16", whole._replace(x=x.astype(np.float16))), ("int8", small)):
        sides[f"cosine, {name}"] = partial(stored_kmax, rows, cosine, K, heads[1])
        plain = rows._replace(factors=None)
        sides[f"tensor, {name}"] = partial(stored_kmax, plain, tensor, K, heads[CHANNELS], offset=offset, relu=True)
    sides["plain NumPy, cosine"] = partial(_numpy_cosine, x, lengths, cosine[0, :, 0], heads[1])
    unit = torch.from_numpy(x / lengths[:, None]).view(texts, RIGHT, DIM)
    sides["MaxSim in PyTorch, mv-lstm"] = partial(_max_sim, torch.from_numpy(cosine[0, :, 0]), unit)

    share = 1 / np.arange(1, SUBWORDS + 1)
    ids = g.choice(SUBWORDS, texts * RIGHT + LEFT, p=share / share.sum()).astype(np.int32) + 300  # Zipf's law
    left, ids = ids[:LEFT].astype(np.int64), ids[LEFT:]
    every: Any = np.arange(len(subword_vectors()))[None]
    units, norms = static_units(Tokens(every, every >= 0))
    table = WordTable(units, norms, g.random(len(units)).astype(np.float32) + np.float32(0.1))
    words = StoredWords(ids, start, np.unique(ids), text_products(table, ids, start))
    head = _head(g, 9 + SUBWORD_K, 32)
    sides["late-interaction"] = lambda: WordScorer(table, left, words, float(RIGHT), SUBWORD_K, head).scores()
    if texts <= 10_000:  # the vectors of more texts need gigabytes, which the words do not
        vectors = torch.from_numpy(units[ids]).view(texts, RIGHT, -1)
        sides["MaxSim in PyTorch, subwords"] = partial(_max_sim, torch.from_numpy(units[left]), vectors)
    else:
        few = _sides_of_subwords(units, left, ids[: 1000 * RIGHT])
        sides["MaxSim in PyTorch, subwords"] = lambda: [few() for _ in range(texts // 1000)]
    return sides


def _sides_of_subwords(units: Array, left: Array, ids: Array) -> Callable[[], object]:
    """MaxSim of a thousand texts, repeated for larger collections."""
    vectors = torch.from_numpy(units[ids]).view(-1, RIGHT, units.shape[1])
    return partial(_max_sim, torch.from_numpy(units[left]), vectors)


def _head(g: np.random.Generator, features: int, hidden: int) -> Head:
    shapes = (features,), (hidden, features), (hidden,), (hidden,)
    linear, *network = (g.standard_normal(shape).astype(np.float32) * np.float32(0.3) for shape in shapes)
    return Head(linear, 0.1, *network)


def _numpy_cosine(x: Array, lengths: Array, u: Array, head: Head) -> Array:
    s = (x @ u.T) / lengths[:, None]
    cells = s.reshape(-1, RIGHT * LEFT)
    return head.score(-np.sort(np.partition(-cells, K - 1, 1)[:, :K], 1))


@torch.no_grad()
def _max_sim(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return torch.einsum("ld,trd->tlr", left, right).max(-1).values.sum(-1)
