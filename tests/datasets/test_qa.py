"""Question answering: texts of 5 to 50 words, negatives similar to the answer, and a split by question."""

from typing import Any

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits
from pairlight.datasets.qa import QAReport, qa

SUBJECTS = ["the quiet cat in her basket", "bright stars over the dark sea"]


def questions(count: int = 60) -> Pairs:
    left = [f"who has ever spoken of number {i}" for i in range(count)]
    right = [f"it was {SUBJECTS[i % 2]} of year y{i}" for i in range(count)]
    return Pairs.of(left, right)


def reported(pairs: Pairs, **options: Any) -> tuple[Splits, QAReport]:
    reports: list[QAReport] = []
    splits = qa(pairs, **options, on_report=reports.append)
    return splits, reports[0]


def rows_of(pairs: Pairs) -> list[tuple[str, str, float]]:
    assert pairs.label is not None
    return [
        (pairs.texts[left], pairs.texts[right], float(label))
        for left, right, label in zip(pairs.left, pairs.right, pairs.label, strict=True)
    ]


def test_every_question_has_its_answer_and_four_similar_ones() -> None:
    parts = qa(questions(), top=25)
    assert {name: (part.lists, len(part)) for name, part in parts.items()} == {
        "train": (48, 240),
        "dev": (6, 30),
        "test": (6, 30),
    }
    for part in parts.values():
        for left, right, label in rows_of(part):
            number = int(left.split()[-1])
            assert right.endswith(f"y{number}") == (label == 1)
            assert ("cat" if number % 2 == 0 else "stars") in right


@pytest.mark.parametrize(("words", "used"), [(4, False), (5, True), (50, True), (51, False)])
def test_only_texts_of_5_to_50_words_are_used(words: int, used: bool) -> None:
    pairs = questions(20)
    longer = Pairs.of(
        [*(pairs.texts[i] for i in pairs.left), " ".join(["odd"] * words)],
        [*(pairs.texts[i] for i in pairs.right), "it was the odd one of the sea"],
    )
    assert sum(part.lists for part in qa(longer).values()) == 20 + used


def test_negative_pairs_are_left_out() -> None:
    pairs = questions(20)
    labels = [1.0, 0.0] * 10
    labeled = Pairs.of([pairs.texts[i] for i in pairs.left], [pairs.texts[i] for i in pairs.right], labels)
    positives = {left for part in qa(labeled).values() for left, _, label in rows_of(part) if label}
    assert positives == {f"who has ever spoken of number {i}" for i in range(0, 20, 2)}


def test_no_question_is_in_two_splits() -> None:
    pairs = questions(30)
    twice = Pairs.of([pairs.texts[i] for i in pairs.left] * 2, [pairs.texts[i] for i in [*pairs.right, *pairs.left]])
    parts = [{left for left, _, _ in rows_of(part)} for part in qa(twice).values()]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 30


def test_the_seed_and_the_limit_determine_the_dataset() -> None:
    assert rows_of(qa(questions(), seed=3)["train"]) == rows_of(qa(questions(), seed=3)["train"])
    assert rows_of(qa(questions(), seed=3)["train"]) != rows_of(qa(questions(), seed=4)["train"])
    assert sum(part.lists for part in qa(questions(), limit=20).values()) == 20


def test_pairs_that_are_all_too_short_are_refused() -> None:
    with pytest.raises(InputError, match="None of the 1 pairs is positive and has 5 to 50 words in both texts"):
        qa(Pairs.of(["too short"], ["this is too short too"]))


def test_every_list_has_one_positive() -> None:
    for part in qa(questions()).values():
        assert part.label is not None
        np.testing.assert_array_equal(np.bincount(part.group, part.label), 1)


def test_every_ideograph_counts_as_a_word() -> None:
    left = [f"你喜欢什么样的小猫{i}" for i in range(30)]
    right = [f"我喜欢白色的小猫和鱼{i}" for i in range(30)]
    assert sum(part.lists for part in qa(Pairs.of(left, right)).values()) == 30


def test_every_dropped_pair_has_one_reason() -> None:
    pairs = questions(30)
    left, right = ([pairs.texts[i] for i in side] for side in (pairs.left, pairs.right))
    unique = "a wholly different sentence about nothing", "zyx wvu tsr qpo nml kji"  # shares no word with another
    more = [("why", "x " * 60), (left[0], "x " * 51), (left[1], right[1].upper()), (left[2], "y " * 9), unique]
    table = Pairs.of([*left, *(a for a, _ in more)], [*right, *(b for _, b in more)], [1.0] * 33 + [0.0, 1.0])
    with pytest.warns(UserWarning, match="No negative was found for 1 of"):
        splits, report = reported(table)
    assert report.dropped == {
        "not positive": 1,
        "too short (below 5 words)": 1,
        "too long (above 50 words)": 1,
        "duplicates": 1,
        "without negatives": 1,
    }
    assert report.used == 30 == sum(int((part.labels > 0).sum()) for part in splits.values())
    assert report.pairs == 35 == report.used + sum(report.dropped.values())
    assert str(report).startswith("30 of 35 pairs are used; 5 dropped: 1 not positive, 1 too short (below 5 words), ")


def test_pairs_above_the_limit_are_reported_and_nothing_else() -> None:
    assert str(reported(questions(30), limit=20)[1]) == "20 of 30 pairs are used; 10 dropped: 10 above the limit."
    assert str(reported(questions(30))[1]) == "30 of 30 pairs are used."


def test_the_limits_of_length_can_be_set() -> None:
    assert sum(part.lists for part in qa(questions(30), min_words=7, max_words=11).values()) == 30
    with pytest.raises(InputError, match="and has 8 to 50 words in both texts") as caught:
        qa(questions(30), min_words=8)
    assert caught.value.option == "min_words"
    with pytest.raises(InputError, match="leave no length"):
        qa(questions(30), min_words=6, max_words=5)
