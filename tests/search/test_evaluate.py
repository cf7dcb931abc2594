"""Metrics of an index, and what is learnt on dev queries."""

import ir_measures
import numpy as np
import pytest
from ir_measures import RR, R, nDCG

from pairlight import Document, Index
from pairlight.core.errors import InputError
from pairlight.search.evaluate import WEIGHTS, ScoredQuery, best_weight, evaluate_index, stage_metrics, tune_index
from pairlight.search.manifest import read_manifest

QUERIES = {"q1": "where is my parcel", "q2": "how can I pay", "q3": "unjudged"}
RELEVANCE = {"q1": {"tracking": 1}, "q2": {"payment": 2, "returns": 1}, "q9": {"x": 1}}


def test_metrics_are_those_of_an_independent_package():
    rng = np.random.default_rng(0)
    names = [f"d{i}" for i in range(40)]
    relevance = {f"q{q}": {n: int(g) for n, g in zip(names, rng.integers(-1, 3, 40), strict=True)} for q in range(20)}
    rankings = {q: rng.permutation(names)[:25].tolist() for q in relevance}
    run = {q: {n: float(-rank) for rank, n in enumerate(ranking)} for q, ranking in rankings.items()}
    gains = {q: {n: max(g, 0) for n, g in grades.items()} for q, grades in relevance.items()}
    expected = ir_measures.calc_aggregate([R @ 25, RR @ 10, nDCG @ 10], gains, run)
    found = stage_metrics(rankings, relevance)
    assert found.recall == pytest.approx(expected[R @ 25])
    assert found.mrr == pytest.approx(expected[RR @ 10])
    assert found.ndcg == pytest.approx(expected[nDCG @ 10])


def test_an_index_is_evaluated_by_stage(index):
    found = evaluate_index(index, QUERIES, RELEVANCE)
    assert list(found.stages) == ["first stage", "model", "blend"]
    assert found.queries == 2
    assert found.stages["blend"].recall == 1
    assert found.stages["model"].mrr == 1
    assert 0 < found.p50 <= found.p99


def test_an_index_without_a_model_has_one_stage(documents, tmp_path):
    with Index.create(tmp_path / "i", documents, model=None) as index:
        assert list(evaluate_index(index, QUERIES, RELEVANCE).stages) == ["first stage"]
        with pytest.raises(InputError, match="has no model"):
            tune_index(index, QUERIES, RELEVANCE)


def test_the_weight_of_highest_mrr_is_chosen_and_of_equal_ones_the_middle():
    flat = dict.fromkeys(WEIGHTS, 0.5)
    assert best_weight(flat) == 0.5
    assert best_weight(flat | {0.9: 0.6, 0.2: 0.6}) == 0.2  # both are better, and this is nearer to the middle
    assert best_weight(flat | {1.0: 0.7}) == 1.0


def test_a_query_is_ranked_by_each_stage_and_by_the_blend():
    query = ScoredQuery(["a", "b", "c"], np.array([3.0, 2.0, 1.0]), np.array([0.0, 1.0, 0.9]), (0.0, 0.0))
    assert query.ranking("first stage") == ["a", "b", "c"]
    assert query.ranking("model") == ["b", "c", "a"]
    assert query.ranking("blend", 0.5) == ["b", "a", "c"]


def test_tuning_is_kept_in_the_index_and_applies_to_searches(documents, tmp_path):
    others = [Document(f"x{i}", f"completely unrelated sentence number {i}") for i in range(20)]
    with Index.create(tmp_path / "i", [*documents, *others]) as index:
        tuned = tune_index(index, QUERIES, RELEVANCE)
        assert tuned.mrr[tuned.weight] == max(tuned.mrr.values())
        assert tuned.queries == 2
        kept = read_manifest(tmp_path / "i")
        assert (kept.weight, kept.threshold) == (tuned.weight, tuned.threshold)
        found = index.search("where is my parcel")
        assert found[0].id == "tracking"
        assert all(hit.model_score >= tuned.threshold for hit in found)
        assert len(index.search("quantum chromodynamics lattice")) == 0
        assert len(index.search("quantum chromodynamics lattice", threshold=float("-inf"))) == 10


def test_queries_without_judgments_are_an_error(index):
    with pytest.raises(InputError, match="None of the 1 queries has a positive document"):
        evaluate_index(index, {"other": "x"}, RELEVANCE)
