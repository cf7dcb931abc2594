"""The examples of an epoch: positives with drawn negatives, or labeled pairs."""

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.training.examples import LabeledExamples, RankingExamples

GRADED = Pairs.of(
    ["q"] * 5 + ["p"] * 3 + ["o"] * 2,
    ["a2", "a0", "a1", "b0", "c0", "x1", "x0", "y1", "z0", "z00"],
    [2, 0, 1, 0, 0, 1, 0, 1, 0, 0],
)


def drawn(negatives, seed=0):
    epoch = RankingExamples(GRADED, negatives).epoch(np.random.default_rng(seed))
    text = GRADED.texts
    return [(text[left], *(text[i] for i in right)) for left, right in zip(epoch.left, epoch.right, strict=True)]


def test_a_negative_is_of_the_same_list_and_has_a_lower_label():
    lower = {"a2": {"a0", "a1", "b0", "c0"}, "a1": {"a0", "b0", "c0"}, "x1": {"x0"}, "y1": {"x0"}}
    for seed in range(20):
        rows = drawn(2, seed)
        assert sorted(row[1] for row in rows) == ["a1", "a2", "x1", "y1"]
        assert all(set(row[2:]) <= lower[row[1]] for row in rows)


def test_negatives_are_distinct_while_there_are_enough():
    for seed in range(20):
        assert all(len(set(row[2:])) == 3 for row in drawn(3, seed) if row[0] == "q")


def test_a_list_with_too_few_negatives_repeats_them_in_the_same_order():
    epoch = RankingExamples(GRADED, 7).epoch(np.random.default_rng(0))
    assert sorted(epoch.distinct.tolist()) == [1, 1, 3, 4]
    for right, distinct in zip(epoch.right[:, 1:], epoch.distinct, strict=True):
        assert len(set(right)) == distinct
        assert right.tolist() == [right[column % distinct] for column in range(7)]


def test_every_negative_is_drawn_eventually():
    assert {row[2] for seed in range(60) for row in drawn(1, seed) if row[1] == "a2"} == {"a0", "a1", "b0", "c0"}


def test_lists_without_a_positive_and_a_negative_are_refused():
    with pytest.raises(InputError, match="negatives='random'"):
        RankingExamples(Pairs.of(["a", "b"], ["c", "d"], [1, 1]), 4)


def test_labeled_pairs_come_once_each_with_their_label():
    epoch = LabeledExamples(GRADED, "squared").epoch(np.random.default_rng(0))
    assert epoch.right.shape == (10, 1)
    assert epoch.label.tolist() == [2, 0, 1, 0, 0, 1, 0, 1, 0, 0]


@pytest.mark.parametrize(
    "kind", [lambda pairs: LabeledExamples(pairs, "squared"), lambda pairs: RankingExamples(pairs, 1)]
)
def test_pairs_without_labels_are_refused(kind):
    with pytest.raises(InputError, match="have no labels"):
        kind(Pairs.of(["a"], ["b"]))
