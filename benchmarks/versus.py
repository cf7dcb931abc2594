"""Side by side: pairlight's loops and the plain forms of the same models, and cross-encoders on the same texts."""

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import cross_encoders
from benchmarks.clock import interleaved, seconds
from benchmarks.every_model import WORKLOADS
from benchmarks.peers import naive_match_srnn, packed_mv_lstm
from benchmarks.subject import Subject
from benchmarks.workloads import ragged, varied
from pairlight.data.pairs import Pairs
from pairlight.errors import InputError

_BATCH = 64  # better texts in a step, each with a worse one
INTERACTIONS = ("cosine", "bilinear", "tensor")

Say = Callable[[str], None]
Rows = list[dict[str, Any]]


def double_loop(workloads: tuple[str, ...], rounds: int, say: Say) -> Rows:
    """Match-SRNN and its naive double loop, same weights, 128 pairs a step."""
    rows = []
    for workload in workloads:
        say(f"Match-SRNN and its double loop, {workload}")
        ours = Subject("match-srnn", WORKLOADS[workload](_BATCH), _BATCH)
        rows += _compared(
            workload, {"pairlight": ours, "double loop": ours.with_model(naive_match_srnn(ours.model))}, rounds
        )
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
            ours = Subject("mv-lstm", pairs, lists, interaction=interaction).knowing(100_000)
            sides = {"pairlight": ours, "packed nn.LSTM": ours.with_model(packed_mv_lstm(ours.model))}
            rows += [{"interaction": interaction, **row} for row in _compared(workload, sides, 3 * rounds)]
    return rows


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


def _compared(workload: str, sides: dict[str, Subject], rounds: int) -> Rows:
    trained = interleaved({name: side.trained for name, side in sides.items()}, rounds)
    scored = interleaved({name: side.scored for name, side in sides.items()}, rounds)
    return [
        {
            "workload": workload,
            "side": name,
            "train": trained[name],
            "score": scored[name],
            "train_mb": side.training_megabytes(),
        }
        for name, side in sides.items()
    ]
