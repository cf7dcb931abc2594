import json
import subprocess
import sys

import numpy as np
import pytest

from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.evaluation import evaluate_scores, task_type, pair_metrics, rank_metrics
from pairlight.evaluation.evaluate import default_metric


def table(left: str, label: list[float] | None) -> Pairs:
    """One letter a pair names its left text; the right texts are all distinct."""
    return Pairs.of(list(left), [f"right {i}" for i in range(len(left))], label)


@pytest.mark.parametrize(
    ("left", "label", "kind"),
    [
        ("aabb", [1, 0, 0, 1], "ranking"),
        ("aabc", [1, 0, 0, 1], "ranking"),  # just half of the pairs share a list
        ("aabcd", [1, 0, 0, 1, 1], "pairs"),  # less than half
        ("abcd", [1, 0, 0, 1], "pairs"),
        ("aabb", [1, 1, 0, 0], "pairs"),  # no list mixes labels
        ("aabb", [2, 1, 0, 0], "ranking"),
        ("aabb", [0.5, 0, 1, 0], "pairs"),  # ranking cannot take the label 0.5
        ("", [], "pairs"),
    ],
)
def test_the_kind_follows_from_lists_and_labels(left, label, kind):
    assert task_type(table(left, label)) == kind


@pytest.mark.parametrize(
    ("left", "label", "metric"),
    [
        ("aabb", [1, 0, 0, 1], "MAP"),
        ("aabb", [2, 1, 0, 3], "MAP"),
        ("aabb", [2, 1, 3, 4], "nDCG@10"),  # MAP would be 1 whatever the order
        ("abcd", [1, 0, 0, 1], "accuracy"),
        ("abcd", [1, 5, 3, 2], "Spearman"),
        ("abcd", [0, 0.3, 0.5, 1], "Spearman"),
        ("abcd", [1, 1, 1, 1], "accuracy"),
    ],
)
def test_the_usual_metric_can_tell_models_apart(left, label, metric):
    assert default_metric(table(left, label)) == metric


def test_a_ranking_table_is_measured_as_rankings():
    pairs = table("aabbcc", [1, 0, 0, 1, 0, 0])
    scores = [2, 1, 2, 1, 2, 1]
    result = evaluate_scores(pairs, scores)
    assert result == rank_metrics(scores, pairs.label, pairs.group)
    assert result.metrics["P@1"] == 0.5
    assert result.notes == ("1 of 3 lists have no right answer and were left out",)
    assert evaluate_scores(pairs, scores, keep_empty=True).metrics["P@1"] == pytest.approx(1 / 3)


def test_labelled_pairs_are_measured_as_pairs():
    pairs = table("abc", [1, 0, 1])
    result = evaluate_scores(pairs, [3, 2, 1], threshold=1.5)
    assert result == pair_metrics([3, 2, 1], pairs.label, threshold=1.5)
    assert result.metrics["accuracy"] == pytest.approx(1 / 3)


def test_the_kind_can_be_given():
    pairs = table("aabb", [1, 0, 0, 1])
    assert evaluate_scores(pairs, [4, 3, 2, 1], kind="pairs").kind == "pairs"
    with pytest.raises(InputError, match="named 'listwise': give one of ranking, pairs"):
        evaluate_scores(pairs, [4, 3, 2, 1], kind="listwise")


def test_the_order_of_the_rows_changes_no_metric():
    rng = np.random.default_rng(0)
    pairs = table("".join("abcdefghij"[i] for i in rng.integers(0, 10, 90)), list(rng.integers(0, 3, 90)))
    scores = rng.integers(0, 4, 90)
    expected = evaluate_scores(pairs, scores)
    assert expected.kind == "ranking"
    for seed in range(20):
        rows = np.random.default_rng(seed).permutation(90)
        assert evaluate_scores(pairs.take(rows), scores[rows]).metrics == expected.metrics


def test_a_result_is_ready_for_json():
    result = evaluate_scores(table("aabb", [1, 0, 0, 0]), np.array([2, 1, 2, 1], np.float32))
    back = json.loads(json.dumps(result.as_dict()))
    assert list(back) == ["kind", "metrics", "counted", "left_out", "threshold", "notes"]
    assert list(back["metrics"]) == ["P@1", "MRR", "MAP", "nDCG@3", "nDCG@5", "nDCG@10"]
    assert (back["kind"], back["counted"], back["left_out"]) == ("ranking", 1, 1)


def test_a_table_without_labels_is_refused():
    with pytest.raises(InputError, match="These 2 pairs have no labels"):
        evaluate_scores(table("ab", None), [1, 2])


def test_importing_the_room_imports_nothing_heavy():
    heavy = "{'torch', 'ir_measures', 'scipy', 'pandas', 'gensim'}"
    code = f"import sys, pairlight.evaluation; print({heavy} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
