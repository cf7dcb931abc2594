"""Parts are whole lists, drawn by seed, and lose nothing."""

import numpy as np
import pytest

from pairlight.data.pairs import Pairs
from pairlight.data.splits import split
from pairlight.core.errors import InputError


def table(lists: int, each: int = 3) -> Pairs:
    rows = [(f"left {i}", f"right {i} {j}") for j in range(each) for i in range(lists)]
    return Pairs.of([left for left, _ in rows], [right for _, right in rows], [float(i % 2) for i in range(len(rows))])


def lefts(pairs: Pairs) -> set[str]:
    return {pairs.texts[i] for i in pairs.left}


def test_every_list_goes_whole_to_one_part() -> None:
    parts = split(table(100))
    assert [part.lists for part in parts] == [80, 10, 10]
    assert [len(part) for part in parts] == [240, 30, 30]
    assert set.union(*map(lefts, parts)) == lefts(table(100))
    assert sum(len(lefts(part)) for part in parts) == 100


def test_pairs_keep_their_order_and_label() -> None:
    pairs = table(10)
    assert pairs.label is not None
    rows = [(pairs.texts[i], pairs.texts[j], n) for i, j, n in zip(pairs.left, pairs.right, pairs.label, strict=True)]
    for part in split(pairs, (0.5, 0.5)):
        assert part.label is not None
        kept = [(part.texts[i], part.texts[j], n) for i, j, n in zip(part.left, part.right, part.label, strict=True)]
        assert kept == [row for row in rows if row in set(kept)]


def test_the_seed_decides() -> None:
    def first(seed: int) -> set[str]:
        return lefts(split(table(50), seed=seed)[0])

    assert first(1) == first(1)
    assert first(1) != first(2)


def test_lists_are_drawn_and_not_cut_off_in_order() -> None:
    train, test = split(table(50), (0.5, 0.5))
    assert lefts(train) != {f"left {i}" for i in range(25)}
    assert lefts(test) != {f"left {i}" for i in range(25)}


@pytest.mark.parametrize("lists", [3, 4, 5, 7, 15])
def test_no_part_is_empty_while_lists_suffice(lists: int) -> None:
    parts = split(table(lists))
    assert all(part.lists >= 1 for part in parts)
    assert sum(part.lists for part in parts) == lists
    assert np.argmax([part.lists for part in parts]) == 0


def test_too_few_lists_are_refused() -> None:
    with pytest.raises(InputError, match="2 ranking lists cannot make 3 parts"):
        split(table(2))


@pytest.mark.parametrize("fractions", [(), (0.8, 0.3), (1.2, -0.2), (0.5, 0.5, 0.0), (0.5,)])
def test_fractions_must_be_positive_and_sum_to_one(fractions: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="must be above 0 and sum to 1"):
        split(table(10), fractions)


def test_lists_with_the_same_left_text_stay_together() -> None:
    left = [f"question {n % 30}".upper() if n % 2 else f"question  {n % 30}" for n in range(120)]
    pairs = Pairs.of(left, [f"answer {n}" for n in range(120)], [1.0] * 120, [f"id {n}" for n in range(120)])
    for seed in range(5):
        asked = [
            {" ".join(text.split()).lower() for text in part.texts if "nswer" not in text}
            for part in split(pairs, seed=seed)
        ]
        assert not asked[0] & asked[1]
        assert not asked[0] & asked[2]
        assert not asked[1] & asked[2]


def test_one_left_text_makes_no_parts() -> None:
    same = Pairs.of(["why"] * 20, [f"answer {n}" for n in range(20)], [1.0] * 20, [f"id {n}" for n in range(20)])
    with pytest.raises(InputError, match="1 ranking lists cannot make 3 parts"):
        split(same)
