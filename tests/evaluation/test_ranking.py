"""Ranking metrics agree with hand-computed values and ir_measures, and ties count against the model."""

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import AP, RR, P, nDCG

from pairlight.core.errors import InputError
from pairlight.evaluation.ranking import evaluate_run, ranking_metrics

NAMES = ["P@1", "MRR", "MAP", "nDCG@3", "nDCG@5", "nDCG@10"]


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Few different scores, so that there are many ties; the first row is positive."""
    n = draw(st.integers(1, 40))
    column = lambda top: st.lists(st.integers(0, top), min_size=n, max_size=n)  # noqa: E731
    scores, labels, groups = (np.array(draw(column(top))) for top in (4, 2, 5))
    labels[0] = 1
    return scores.astype(np.float32), labels.astype(np.float32), groups


def test_every_metric_equals_the_hand_computed_value():
    # The labels of list 0 by rank are 0, 2, 0, 1; list 1 has its only positive first.
    result = ranking_metrics([4, 3, 2, 1, 9, 8], [0, 2, 0, 1, 1, 0], [0, 0, 0, 0, 1, 1])
    log2 = np.log2
    ideal = 2 + 1 / log2(3)
    expected = {
        "P@1": [0, 1],
        "MRR": [1 / 2, 1],
        "MAP": [(1 / 2 + 2 / 4) / 2, 1],
        "nDCG@3": [(2 / log2(3)) / ideal, 1],
        "nDCG@5": [(2 / log2(3) + 1 / log2(5)) / ideal, 1],
        "nDCG@10": [(2 / log2(3) + 1 / log2(5)) / ideal, 1],
    }
    assert list(result.metrics) == NAMES
    for name, values in expected.items():
        np.testing.assert_allclose(result.per_list[name], values, rtol=1e-12, err_msg=name)
        assert result.metrics[name] == pytest.approx(np.mean(values), rel=1e-12)
    assert (result.task, result.counted, result.left_out, result.notes) == ("ranking", 2, 0, ())


def test_ndcg_ignores_ranks_beyond_its_cutoff():
    result = ranking_metrics(-np.arange(12.0), np.arange(12) == 9, np.zeros(12))
    assert result.metrics["nDCG@3"] == result.metrics["nDCG@5"] == 0
    assert result.metrics["nDCG@10"] == pytest.approx(1 / np.log2(11))


def test_the_metrics_equal_those_of_ir_measures_if_there_are_no_ties():
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 60, 700)
    scores, labels = rng.permutation(700) / 7, rng.integers(0, 4, 700) * (rng.random(700) < 0.4)
    qrels = [ir_measures.Qrel(str(g), str(i), int(y)) for i, (g, y) in enumerate(zip(groups, labels, strict=True))]
    run = [ir_measures.ScoredDoc(str(g), str(i), s) for i, (g, s) in enumerate(zip(groups, scores, strict=True))]
    measures = [P @ 1, RR, AP, nDCG @ 3, nDCG @ 5, nDCG @ 10]
    theirs = ir_measures.calc_aggregate(measures, qrels, run)
    ours = ranking_metrics(scores, labels, groups, keep_empty=True).metrics
    assert list(ours.values()) == pytest.approx([theirs[m] for m in measures], rel=1e-12)


def test_of_equal_scores_the_lower_label_is_ranked_first():
    result = ranking_metrics([1, 1, 1, 0], [2, 0, 1, 0], [7, 7, 7, 7])
    assert result.metrics["P@1"] == 0
    assert result.metrics["MRR"] == pytest.approx(1 / 2)
    assert result.metrics["nDCG@3"] == pytest.approx((1 / np.log2(3) + 2 / 2) / (2 + 1 / np.log2(3)))


@settings(deadline=None)
@given(tables())
def test_a_constant_scorer_is_never_better_than_any_other(table):
    scores, labels, groups = table
    constant = ranking_metrics(np.zeros(len(scores)), labels, groups).metrics
    other = ranking_metrics(scores, labels, groups).metrics
    assert all(constant[name] <= other[name] + 1e-12 for name in NAMES)


def test_a_constant_scorer_ranks_the_positive_last():
    result = ranking_metrics(np.full(30, 0.5), np.arange(30) % 10 == 0, np.arange(30) // 10)
    assert result.metrics["P@1"] == 0
    assert result.metrics["MRR"] == result.metrics["MAP"] == pytest.approx(1 / 10)


@settings(deadline=None)
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_change_the_metrics(table, random):
    rows = list(range(len(table[0])))
    random.shuffle(rows)
    shuffled = [column[rows] for column in table]
    assert ranking_metrics(*table).metrics == ranking_metrics(*shuffled).metrics


@settings(deadline=None)
@given(tables(), st.permutations(range(6)))
def test_the_names_of_the_lists_do_not_change_the_metrics(table, names):
    scores, labels, groups = table
    assert (
        ranking_metrics(scores, labels, groups).metrics
        == ranking_metrics(scores, labels, np.array(names)[groups]).metrics
    )


def test_lists_without_a_positive_are_left_out_or_count_as_zero():
    scores, labels, groups = [2, 1, 2, 1], [1, 0, 0, 0], ["a", "a", "b", "b"]
    left_out = ranking_metrics(scores, labels, groups)
    assert (left_out.metrics["P@1"], left_out.counted, left_out.left_out) == (1.0, 1, 1)
    assert left_out.notes == ("1 of 2 lists have no positive and were left out",)
    kept = ranking_metrics(scores, labels, groups, keep_empty=True)
    assert (kept.metrics["P@1"], kept.counted, kept.left_out) == (0.5, 2, 0)
    assert kept.notes == ("1 of 2 lists have no positive and count as 0",)
    assert kept.per_list["P@1"].tolist() == [1, 0]


def test_lists_without_a_negative_are_reported_in_a_note():
    result = ranking_metrics([2, 1, 5, 3, 4], [1, 0, 1, 1, 2], ["a", "a", "b", "c", "c"])
    assert result.notes == ("2 of 3 lists have no negative: their P@1, MRR and MAP are 1 for every model",)
    assert result.per_list["MAP"].tolist() == [1, 1, 1]


def test_a_label_below_zero_is_negative():
    assert ranking_metrics([3, 2, 1], [-1, 2, -1], [0, 0, 0]) == ranking_metrics([3, 2, 1], [0, 2, 0], [0, 0, 0])


@pytest.mark.parametrize(
    ("scores", "labels", "groups", "message"),
    [
        ([1, np.nan], [0, 1], [0, 0], r"scores\[1\] is nan"),
        ([1, np.inf], [0, 1], [0, 0], r"scores\[1\] is inf"),
        ([1, 2], [0, np.nan], [0, 0], r"labels\[1\] is nan"),
        ([1, 2], [0, 0.5], [0, 0], r"labels\[1\] is 0\.5.*task='pairs'"),
        ([1, 2], [0, 5000], [0, 0], "A label is 5000, but ranking metrics allow labels up to 1000"),
        ([1, 2], [0, 0], [0, 0], "None of the 1 lists has a label above 0"),
        ([1, 2], [0, 1, 0], [0, 0], "2 scores, but 3 labels"),
        ([1, 2], [0, 1], [0, 0, 0], "2 scores, but 3 groups"),
        ([], [], [], "at least one pair"),
        ([[1], [2]], [0, 1], [0, 0], r"shape \(2, 1\)"),
        (["high", "low"], [0, 1], [0, 0], "scores must be numbers"),
    ],
)
def test_invalid_input_is_refused_with_the_reason(scores, labels, groups, message):
    with pytest.raises(InputError, match=message):
        ranking_metrics(scores, labels, groups)


def test_a_run_is_evaluated_as_by_trec_eval():
    # One positive of query a was not retrieved, z is not in the qrels, and query b is not in the run.
    qrels = {"a": {"x": 1, "y": 0, "w": 1}, "b": {"x": 1}}
    result = evaluate_run(qrels, {"a": {"z": 3.0, "x": 2.0, "y": 1.0}, "c": {"x": 1.0}})
    assert result.per_list["MAP"].tolist() == [1 / 4, 0]
    assert result.per_list["MRR"].tolist() == [1 / 2, 0]
    assert result.per_list["nDCG@3"] == pytest.approx([(1 / np.log2(3)) / (1 + 1 / np.log2(3)), 0])
    assert result.notes == (
        "1 of 2 lists are missing from the run and count as 0",
        "1 lists of the run are not in the qrels and were ignored",
    )


def test_ties_count_against_a_run_for_any_document_ids():
    for positive, negative in (("a", "b"), ("b", "a")):
        assert (
            evaluate_run({"q": {positive: 1, negative: 0}}, {"q": {positive: 1.0, negative: 1.0}}).metrics["P@1"] == 0
        )


def test_scores_that_are_equal_in_single_precision_keep_their_order():
    assert evaluate_run({"q": {"a": 1, "b": 0}}, {"q": {"a": 1 + 1e-12, "b": 1.0}}).metrics["P@1"] == 1


def test_an_empty_run_has_the_value_zero():
    assert set(evaluate_run({"q": {"a": 1}}, {}).metrics.values()) == {0.0}


def test_a_score_of_nan_is_refused_with_its_query_and_document():
    with pytest.raises(InputError, match="document 'a' for query 'q' is nan"):
        evaluate_run({"q": {"a": 1}}, {"q": {"a": float("nan")}})
