"""Splits contain whole ranking lists, are determined by the seed, and lose no pair."""

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.data.splits import SPLITS, split, train_dev_test


def table(lists: int, each: int = 3) -> Pairs:
    rows = [(f"left {i}", f"right {i} {j}") for j in range(each) for i in range(lists)]
    return Pairs.of([left for left, _ in rows], [right for _, right in rows], [float(i % 2) for i in range(len(rows))])


def lefts(pairs: Pairs) -> set[str]:
    return {pairs.texts[i] for i in pairs.left}


def test_every_list_is_in_one_part() -> None:
    parts = split(table(100))
    assert [part.lists for part in parts] == [80, 10, 10]
    assert [len(part) for part in parts] == [240, 30, 30]
    assert set.union(*map(lefts, parts)) == lefts(table(100))
    assert sum(len(lefts(part)) for part in parts) == 100


def test_pairs_keep_their_order_and_labels() -> None:
    pairs = table(10)
    assert pairs.label is not None
    rows = [(pairs.texts[i], pairs.texts[j], n) for i, j, n in zip(pairs.left, pairs.right, pairs.label, strict=True)]
    for part in split(pairs, (0.5, 0.5)):
        assert part.label is not None
        kept = [(part.texts[i], part.texts[j], n) for i, j, n in zip(part.left, part.right, part.label, strict=True)]
        assert kept == [row for row in rows if row in set(kept)]


def test_the_seed_determines_the_split() -> None:
    def first(seed: int) -> set[str]:
        return lefts(split(table(50), seed=seed)[0])

    assert first(1) == first(1)
    assert first(1) != first(2)


def test_lists_are_drawn_at_random() -> None:
    train, test = split(table(50), (0.5, 0.5))
    assert lefts(train) != {f"left {i}" for i in range(25)}
    assert lefts(test) != {f"left {i}" for i in range(25)}


@pytest.mark.parametrize("lists", [3, 4, 5, 7, 15])
def test_no_part_is_empty_if_there_are_enough_lists(lists: int) -> None:
    parts = split(table(lists))
    assert all(part.lists >= 1 for part in parts)
    assert sum(part.lists for part in parts) == lists
    assert np.argmax([part.lists for part in parts]) == 0


def test_too_few_lists_are_refused() -> None:
    with pytest.raises(InputError, match="2 ranking lists with different left texts cannot be split into 3 parts"):
        split(table(2))


@pytest.mark.parametrize("fractions", [(), (0.8, 0.3), (1.2, -0.2), (0.5, 0.5, 0.0), (0.5,)])
def test_fractions_must_be_positive_and_sum_to_one(fractions: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="must all be above 0 and sum to 1"):
        split(table(10), fractions)


def test_lists_with_the_same_left_text_are_in_the_same_part() -> None:
    left = [f"question {n % 30}".upper() if n % 2 else f"question  {n % 30}" for n in range(120)]
    pairs = Pairs.of(left, [f"answer {n}" for n in range(120)], [1.0] * 120, [f"id {n}" for n in range(120)])
    for seed in range(5):
        questions = [
            {" ".join(text.split()).lower() for text in part.texts if "nswer" not in text}
            for part in split(pairs, seed=seed)
        ]
        assert not questions[0] & questions[1]
        assert not questions[0] & questions[2]
        assert not questions[1] & questions[2]


def test_lists_of_one_left_text_cannot_be_split() -> None:
    same = Pairs.of(["why"] * 20, [f"answer {n}" for n in range(20)], [1.0] * 20, [f"id {n}" for n in range(20)])
    with pytest.raises(InputError, match="1 ranking lists with different left texts cannot be split into 3 parts"):
        split(same)


def test_train_dev_and_test_are_the_default_split_by_name() -> None:
    splits = train_dev_test(table(100), seed=3)
    assert tuple(splits) == SPLITS == ("train", "dev", "test")
    assert [pairs.texts for pairs in splits.values()] == [part.texts for part in split(table(100), seed=3)]


def test_lists_connected_by_chains_of_left_texts_are_in_the_same_part() -> None:
    chain = Pairs.of(["a", "b", "b", "c", "c", "d"], list("uvwxyz"), left_id=["1", "1", "2", "2", "3", "3"])
    with pytest.raises(InputError, match="1 ranking lists"):
        split(chain, (0.5, 0.5))
