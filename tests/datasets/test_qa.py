"""Question answering: texts of 5 to 50 words, negatives similar to the answer, and a split by question."""

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.datasets.qa import qa

SUBJECTS = ["the quiet cat in her basket", "bright stars over the dark sea"]


def questions(count: int = 60) -> Pairs:
    left = [f"who has ever spoken of number {i}" for i in range(count)]
    right = [f"it was {SUBJECTS[i % 2]} of year y{i}" for i in range(count)]
    return Pairs.of(left, right)


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
