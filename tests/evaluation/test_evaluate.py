"""Scores are evaluated as a ranking or as pairs, depending on the table."""

import json
import subprocess
import sys

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.evaluation.classification import pair_metrics
from pairlight.evaluation.evaluate import default_metric, evaluate_scores, task_type
from pairlight.evaluation.metrics import PAIR_METRICS, RANKING_METRICS
from pairlight.evaluation.ranking import ranking_metrics


def table(left: str, label: list[float] | None) -> Pairs:
    """Pairs whose left texts are the letters of `left`; the right texts are all different."""
    return Pairs.of(list(left), [f"right {i}" for i in range(len(left))], label)


@pytest.mark.parametrize(
    ("left", "label", "task"),
    [
        ("aabb", [1, 0, 0, 1], "ranking"),
        ("aabc", [1, 0, 0, 1], "ranking"),  # exactly half of the pairs are in a list with another
        ("aabcd", [1, 0, 0, 1, 1], "pairs"),  # less than half
        ("abcd", [1, 0, 0, 1], "pairs"),
        ("aabb", [1, 1, 0, 0], "pairs"),  # no list has different labels
        ("aabb", [2, 1, 0, 0], "ranking"),
        ("aabb", [0.5, 0, 1, 0], "pairs"),  # ranking metrics need whole numbers
        ("", [], "pairs"),
    ],
)
def test_the_task_follows_from_lists_and_labels(left, label, task):
    assert task_type(table(left, label)) == task


@pytest.mark.parametrize(
    ("left", "label", "metric"),
    [
        ("aabb", [1, 0, 0, 1], "MAP"),
        ("aabb", [2, 1, 0, 3], "MAP"),
        ("aabb", [2, 1, 3, 4], "nDCG@10"),  # MAP would be 1 for every order
        ("abcd", [1, 0, 0, 1], "accuracy"),
        ("abcd", [1, 5, 3, 2], "Spearman"),
        ("abcd", [0, 0.3, 0.5, 1], "Spearman"),
        ("abcd", [1, 1, 1, 1], "accuracy"),
    ],
)
def test_the_default_metric_can_distinguish_models(left, label, metric):
    assert default_metric(table(left, label)) == metric


def test_ranking_lists_are_evaluated_as_a_ranking():
    pairs = table("aabbcc", [1, 0, 0, 1, 0, 0])
    scores = [2, 1, 2, 1, 2, 1]
    result = evaluate_scores(pairs, scores)
    assert result == ranking_metrics(scores, pairs.label, pairs.group)
    assert result.metrics["P@1"] == 0.5
    assert result.notes == ("1 of 3 lists have no positive and were left out",)
    assert evaluate_scores(pairs, scores, keep_empty=True).metrics["P@1"] == pytest.approx(1 / 3)


def test_independent_pairs_are_evaluated_as_pairs():
    pairs = table("abc", [1, 0, 1])
    result = evaluate_scores(pairs, [3, 2, 1], threshold=1.5)
    assert result == pair_metrics([3, 2, 1], pairs.label, threshold=1.5)
    assert result.metrics["accuracy"] == pytest.approx(1 / 3)


def test_the_task_can_be_chosen():
    pairs = table("aabb", [1, 0, 0, 1])
    assert evaluate_scores(pairs, [4, 3, 2, 1], task="pairs").task == "pairs"
    with pytest.raises(InputError, match=r"No task named 'listwise'\. .*Choose from: ranking, pairs") as caught:
        evaluate_scores(pairs, [4, 3, 2, 1], task="listwise")
    assert caught.value.option == "task"


def test_the_metrics_have_the_names_and_the_order_of_the_tables():
    ranking = evaluate_scores(table("aabb", [1, 0, 0, 1]), [4, 3, 2, 1])
    pairs = evaluate_scores(table("abcd", [1, 0, 1, 0]), [4, 3, 2, 1], threshold=0)
    graded = evaluate_scores(table("abcd", [1, 0, 2, 0]), [4, 3, 2, 1], threshold=0)
    assert tuple(ranking.metrics) == RANKING_METRICS
    assert (*pairs.metrics, *graded.metrics) == PAIR_METRICS


def test_the_order_of_the_rows_does_not_change_the_metrics():
    rng = np.random.default_rng(0)
    pairs = table("".join("abcdefghij"[i] for i in rng.integers(0, 10, 90)), list(rng.integers(0, 3, 90)))
    scores = rng.integers(0, 4, 90)
    expected = evaluate_scores(pairs, scores)
    assert expected.task == "ranking"
    for seed in range(20):
        rows = np.random.default_rng(seed).permutation(90)
        assert evaluate_scores(pairs.take(rows), scores[rows]).metrics == expected.metrics


def test_a_result_can_be_written_as_json():
    result = evaluate_scores(table("aabb", [1, 0, 0, 0]), np.array([2, 1, 2, 1], np.float32))
    back = json.loads(json.dumps(result.as_dict()))
    assert list(back) == ["task", "metrics", "counted", "left_out", "threshold", "notes"]
    assert list(back["metrics"]) == ["P@1", "MRR", "MAP", "nDCG@3", "nDCG@5", "nDCG@10"]
    assert (back["task"], back["counted"], back["left_out"]) == ("ranking", 1, 1)


def test_a_table_without_labels_is_refused():
    with pytest.raises(InputError, match="These 2 pairs have no labels"):
        evaluate_scores(table("ab", None), [1, 2])


def test_importing_the_package_imports_no_large_library():
    large = "{'torch', 'ir_measures', 'scipy', 'pandas', 'gensim'}"
    code = f"import sys, pairlight.evaluation; print({large} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
