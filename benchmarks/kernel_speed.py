"""Measures the two recurrent kernels alone, relative to a matrix product, and with a second thread."""

import time
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.clock import interleaved, seconds
from pairlight.kernels.autograd.lstm import bilstm
from pairlight.kernels.autograd.spatial_gru import GruWeights, spatial_gru

_N = 1024  # rows and columns of the matrices that sgemm multiplies
_DIM = _HIDDEN = 50  # of the LSTM
_CELL = 10  # state and channels of the spatial GRU
_TEXTS, _PAIRS = 384, 128


def kernel_speed(rounds: int, say: Callable[[str], None]) -> dict[str, Any]:
    """GFLOP/s of the kernels and of sgemm, and the speedup by a second thread."""
    say("Kernels and sgemm")
    g = torch.Generator().manual_seed(0)
    spatial = {size: _spatial_gru(*size, g) for size in ((30, 40), (50, 50))}
    encode, words = _bilstm(g)
    # Useful work only: two flops per weight and per cell or word in the forward pass, as many for each of the two
    # gradients. What the backward pass recomputes is not counted.
    cell = 2 * 8 * _CELL * 4 * _CELL
    word = 2 * 2 * 4 * _HIDDEN * (_DIM + _HIDDEN)
    work: dict[str, tuple[Callable[[], object], int]] = {}
    for (left, right), run in spatial.items():
        flops = _PAIRS * left * right * cell
        work[f"spatial GRU {left}x{right}, training"] = (lambda r=run: r(True), 3 * flops)
        work[f"spatial GRU {left}x{right}, scoring"] = (lambda r=run: r(False), flops)
    work["BiLSTM, training"] = (lambda: encode(True), 3 * words * word)
    work["BiLSTM, scoring"] = (lambda: encode(False), words * word)
    for run, _ in work.values():
        run()
    sides = {"sgemm": sgemm_flops, **{name: _flops(run, flops) for name, (run, flops) in work.items()}}
    speed = interleaved(sides, 3 * rounds)
    return {
        "gflops": {name: each / 1e9 for name, each in speed.items()},
        "share_of_sgemm": {name: each / speed["sgemm"] for name, each in speed.items() if name != "sgemm"},
        "two_threads": {
            "spatial GRU 50x50, training": _two_threads(lambda: spatial[50, 50](True), rounds),
            "BiLSTM, training": _two_threads(lambda: encode(True), rounds),
        },
    }


def sgemm_flops() -> float:
    """Flops per second of a product of two large matrices on one core."""
    a = torch.ones(_N, _N)
    return _flops(lambda: a @ a, 2 * _N**3)()


def _flops(run: Callable[[], object], flops: int) -> Callable[[], float]:
    return lambda: flops / seconds(run, 2)


def _two_threads(run: Callable[[], object], rounds: int) -> float:
    """The speedup in wall time, which is lower on a busy machine."""

    def on(threads: int) -> float:
        torch.set_num_threads(threads)
        run()
        taken = seconds(run, 3, time.perf_counter)
        torch.set_num_threads(1)
        return taken

    taken = interleaved({"one": lambda: on(1), "two": lambda: on(2)}, rounds)
    return taken["one"] / taken["two"]


def _spatial_gru(left: int, right: int, g: torch.Generator) -> Callable[[bool], None]:
    def weight(*shape: int) -> torch.Tensor:
        return torch.empty(*shape).uniform_(-0.3, 0.3, generator=g).requires_grad_()

    inputs = 4 * _CELL
    weights = GruWeights(weight(7 * _CELL, inputs), weight(7 * _CELL), weight(_CELL, inputs), weight(_CELL))
    s = torch.randn(_PAIRS, _CELL, left, right, generator=g).requires_grad_()
    lengths = torch.full((_PAIRS,), left), torch.full((_PAIRS,), right)

    def run(train: bool) -> None:
        with torch.set_grad_enabled(train):
            last = spatial_gru(s, *lengths, weights)
        if train:
            torch.autograd.grad(last.sum(), [s, *weights])

    return run


def _bilstm(g: torch.Generator) -> tuple[Callable[[bool], None], int]:
    """A BiLSTM on texts of 5 to 50 words, as in the data of the papers, and the number of their words."""
    lengths = torch.randint(5, 51, (_TEXTS,), generator=g)
    x = torch.randn(_TEXTS, 50, _DIM, generator=g).requires_grad_()
    shapes = ((4 * _HIDDEN, _DIM + _HIDDEN), (4 * _HIDDEN,)) * 2
    weights = [torch.empty(shape).uniform_(-0.1, 0.1, generator=g).requires_grad_() for shape in shapes]

    def run(train: bool) -> None:
        with torch.set_grad_enabled(train):
            out = bilstm(x, lengths, *weights)
        if train:
            torch.autograd.grad(out.sum(), [x, *weights])

    return run, int(lengths.sum())
