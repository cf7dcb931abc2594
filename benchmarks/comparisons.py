"""Compares models with plain PyTorch versions of themselves, and MV-LSTM with cross-encoders on the same texts."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch.utils.flop_counter import FlopCounterMode

from benchmarks import cross_encoders
from benchmarks.benchmark_model import BenchmarkModel
from benchmarks.clock import interleaved, seconds
from benchmarks.every_model import WORKLOADS
from benchmarks.kernel_speed import sgemm_flops
from benchmarks.peers import naive_match_srnn, packed_mv_lstm
from benchmarks.plain_loop import PlainLoop
from benchmarks.separate_process import SeparateProcess
from benchmarks.workloads import random_length_pairs, real_text_pairs
from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs

_BATCH = 64  # positives in a step, with one negative each
_VOCABULARY = 100_000
_FLOP_LISTS = 4  # lists whose flops are counted
INTERACTIONS = ("cosine", "bilinear", "tensor")

Say = Callable[[str], None]
Rows = list[dict[str, Any]]


def double_loop(workloads: tuple[str, ...], rounds: int, say: Say) -> Rows:
    """Match-SRNN and a naive double loop with the same weights, 128 pairs per step; flops per pair and of sgemm."""
    rows = []
    for workload in workloads:
        say(f"Match-SRNN and a double loop, {workload}")
        pairs = WORKLOADS[workload](_BATCH)
        naive = partial(_naive, pairs)
        sides = {"pairlight": partial(BenchmarkModel, "match-srnn", pairs, _BATCH), "double loop": naive}
        found = _compare(workload, sides, rounds)
        sgemm = max(sgemm_flops() for _ in range(30))
        rows += [row | {"flops": _flops(naive()), "sgemm": sgemm} for row in found]
    return rows


def packed(rounds: int, say: Say) -> Rows:
    """MV-LSTM and a packed nn.LSTM with the same weights, for each interaction, with a vocabulary of 100,000 words.

    An epoch is one step of 128 positives with one negative each, so neither side can sort texts by length.
    """
    lists = 2 * _BATCH
    rows = []
    for workload, pairs_of in (
        ("5-50 words", lambda: random_length_pairs(5, 50, lists)),
        ("ragged", lambda: real_text_pairs(lists)),
    ):
        try:
            pairs = pairs_of()
        except InputError as error:
            rows.append({"workload": workload, "skipped": str(error)})
            continue
        for interaction in INTERACTIONS:
            say(f"MV-LSTM ({interaction}) and packed nn.LSTM, {workload}")
            sides = {
                "pairlight": partial(_mv_lstm, pairs, interaction),
                "packed nn.LSTM": partial(_packed, PlainLoop, pairs, interaction),
                "packed nn.LSTM in pairlight's loop": partial(_packed, BenchmarkModel, pairs, interaction),
            }
            rows += [{"interaction": interaction, **row} for row in _compare(workload, sides, 10 * rounds)]
    return rows


def _naive(pairs: Pairs) -> BenchmarkModel:
    plain = PlainLoop("match-srnn", pairs, _BATCH)
    return plain.with_model(naive_match_srnn(plain.model))


def _mv_lstm(pairs: Pairs, interaction: str, kind: type[BenchmarkModel] = BenchmarkModel) -> BenchmarkModel:
    return kind("mv-lstm", pairs, 2 * _BATCH, interaction=interaction).with_vocabulary(_VOCABULARY)


def _packed(kind: type[BenchmarkModel], pairs: Pairs, interaction: str) -> BenchmarkModel:
    ours = _mv_lstm(pairs, interaction, kind)
    return ours.with_model(packed_mv_lstm(ours.model))


def _flops(model: BenchmarkModel) -> float:
    """Flops of the matrix products in one training step, per pair."""
    one = model.first_lists(_FLOP_LISTS)
    with FlopCounterMode(display=False) as counter:
        one.train(one.model, 1)
    return counter.get_total_flops() / (2 * _FLOP_LISTS)


def against_cross_encoders(rounds: int, say: Say) -> Rows:
    """MV-LSTM and cross-encoders, scoring and training on the same tokenized texts."""
    if reason := cross_encoders.missing():
        return [{"skipped": reason}]
    rows: Rows = []
    for workload, pairs_of in WORKLOADS.items():
        say(f"Cross-encoders, {workload}")
        try:
            rows += _with_cross_encoders(workload, pairs_of(_BATCH), rounds)
        except InputError as error:
            rows.append({"workload": workload, "skipped": str(error)})
    return rows


def _with_cross_encoders(workload: str, pairs: Pairs, rounds: int) -> Rows:
    models = {f"mv-lstm, {kind}": BenchmarkModel("mv-lstm", pairs, _BATCH, interaction=kind) for kind in INTERACTIONS}
    score = {name: model.scoring_speed for name, model in models.items()}
    train = {name: model.training_speed for name, model in models.items()}
    batches = cross_encoders.batches(next(iter(models.values())).texts, pairs)
    middle = batches[len(batches) // 2]
    for shape in cross_encoders.SHAPES:
        model = cross_encoders.cross_encoder(shape)
        small = cross_encoders.int8(model, middle)
        step = cross_encoders.train(cross_encoders.cross_encoder(shape))
        score[f"{shape}, transformers"] = _speed(partial(cross_encoders.score, model, batches), len(pairs))
        score[f"{shape}, onnxruntime int8"] = _speed(partial(small, batches), len(pairs))
        train[f"{shape}, transformers"] = _speed(partial(step, middle), len(middle["input_ids"]))
    scored, trained = interleaved(score, rounds), interleaved(train, rounds)
    return [{"workload": workload, "side": n, "score": scored[n], "train": trained.get(n)} for n in scored]


def _speed(run: Callable[[], object], pairs: int) -> Callable[[], float]:
    return lambda: pairs / seconds(run)


def _compare(workload: str, sides: Mapping[str, Callable[[], BenchmarkModel]], rounds: int) -> Rows:
    """Measure each side in its own process: a plain loop must not profit from memory that pairlight keeps."""
    processes = {name: SeparateProcess(make) for name, make in sides.items()}
    train = interleaved({name: partial(side.call, "training_speed") for name, side in processes.items()}, rounds)
    score = interleaved({name: partial(side.call, "scoring_speed") for name, side in processes.items()}, rounds)
    rows = [
        {
            "workload": workload,
            "side": name,
            "train": train[name],
            "score": score[name],
            "train_mb": side.call("training_megabytes"),
        }
        for name, side in processes.items()
    ]
    for side in processes.values():
        side.close()
    return rows
