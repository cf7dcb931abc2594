"""Side by side: pairlight's loops and the plain forms of the same models, and cross-encoders on the same texts."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch.utils.flop_counter import FlopCounterMode

from benchmarks import cross_encoders
from benchmarks.apart import DualEncoder
from benchmarks.clock import interleaved, seconds
from benchmarks.every_model import WORKLOADS
from benchmarks.loops import sgemm_flops
from benchmarks.peers import naive_match_srnn, packed_mv_lstm
from benchmarks.plain_loop import PlainLoop
from benchmarks.subject import Subject
from benchmarks.workloads import ragged, varied
from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError

_BATCH = 64  # better texts in a step, each with a worse one
_WORDS = 100_000
_COUNTED = 4  # lists whose flops are counted
INTERACTIONS = ("cosine", "bilinear", "tensor")

Say = Callable[[str], None]
Rows = list[dict[str, Any]]


def double_loop(workloads: tuple[str, ...], rounds: int, say: Say) -> Rows:
    """Match-SRNN and its naive double loop, same weights, 128 pairs a step; flops of a pair and of sgemm."""
    rows = []
    for workload in workloads:
        say(f"Match-SRNN and its double loop, {workload}")
        pairs = WORKLOADS[workload](_BATCH)
        naive = partial(_naive, pairs)
        sides = {"pairlight": partial(Subject, "match-srnn", pairs, _BATCH), "double loop": naive}
        found = _compared(workload, sides, rounds)
        sgemm = max(sgemm_flops() for _ in range(30))
        rows += [row | {"flops": _flops(naive()), "sgemm": sgemm} for row in found]
    return rows


def packed(rounds: int, say: Say) -> Rows:
    """MV-LSTM and its form on a packed nn.LSTM, same weights, each interaction, 100,000 words known.

    One step of 128 better texts, each with a worse one: neither side can sort texts by length between steps.
    """
    lists = 2 * _BATCH
    rows = []
    for workload, pairs_of in (("5-50 words", lambda: varied(5, 50, lists)), ("ragged", lambda: ragged(lists))):
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
                "packed nn.LSTM in pairlight's loop": partial(_packed, Subject, pairs, interaction),
            }
            rows += [{"interaction": interaction, **row} for row in _compared(workload, sides, 10 * rounds)]
    return rows


def _naive(pairs: Pairs) -> Subject:
    plain = PlainLoop("match-srnn", pairs, _BATCH)
    return plain.with_model(naive_match_srnn(plain.model))


def _mv_lstm(pairs: Pairs, interaction: str, kind: type[Subject] = Subject) -> Subject:
    return kind("mv-lstm", pairs, 2 * _BATCH, interaction=interaction).knowing(_WORDS)


def _packed(kind: type[Subject], pairs: Pairs, interaction: str) -> Subject:
    ours = _mv_lstm(pairs, interaction, kind)
    return ours.with_model(packed_mv_lstm(ours.model))


def _flops(subject: Subject) -> float:
    """What the products of matrices in one training step take, for each pair."""
    one = subject.only(_COUNTED)
    with FlopCounterMode(display=False) as counter:
        one.train(one.model, 1)
    return counter.get_total_flops() / (2 * _COUNTED)


def against_cross_encoders(rounds: int, say: Say) -> Rows:
    """MV-LSTM and cross-encoders, scoring and training on the same texts, tokenised beforehand."""
    if reason := cross_encoders.missing():
        return [{"skipped": reason}]
    rows: Rows = []
    for workload, pairs_of in WORKLOADS.items():
        say(f"Cross-encoders, {workload}")
        try:
            rows += _beside_cross_encoders(workload, pairs_of(_BATCH), rounds)
        except InputError as error:
            rows.append({"workload": workload, "skipped": str(error)})
    return rows


def _beside_cross_encoders(workload: str, pairs: Pairs, rounds: int) -> Rows:
    subjects = {f"mv-lstm, {kind}": Subject("mv-lstm", pairs, _BATCH, interaction=kind) for kind in INTERACTIONS}
    score = {name: subject.scored for name, subject in subjects.items()}
    train = {name: subject.trained for name, subject in subjects.items()}
    batches = cross_encoders.batches(next(iter(subjects.values())).encoded, pairs)
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


def _compared(workload: str, sides: Mapping[str, Callable[[], Subject]], rounds: int) -> Rows:
    """Each side in a process of its own: a plain loop must not gain from memory that pairlight keeps."""
    apart = {name: DualEncoder(make) for name, make in sides.items()}
    trained = interleaved({name: side.trained for name, side in apart.items()}, rounds)
    scored = interleaved({name: side.scored for name, side in apart.items()}, rounds)
    rows = [
        {
            "workload": workload,
            "side": name,
            "train": trained[name],
            "score": scored[name],
            "train_mb": side.training_megabytes(),
        }
        for name, side in apart.items()
    ]
    for side in apart.values():
        side.close()
    return rows
