"""Sentences are found, divided at the best comma, and completed by one clause among several like it."""

import pytest

from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.datasets.completion import clauses, completion, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One is here. Two is there! Is it? Yes.", ["One is here.", "Two is there!", "Is it?", "Yes."]),
        ("Mr. Smith met Dr. J. R. Jones. They spoke.", ["Mr. Smith met Dr. J. R. Jones.", "They spoke."]),
        ("The U.S. Senate met. It rose.", ["The U.S. Senate met.", "It rose."]),
        ("So did I. Then we left.", ["So did I.", "Then we left."]),
        ('He said "No!" "Why?" she asked.', ['He said "No!"', '"Why?" she asked.']),
        ("It cost 3.50 dollars. that was much. Écoute.", ["It cost 3.50 dollars. that was much.", "Écoute."]),
        ("A line\nthat goes on.\n\nA heading\n \nAnother one", ["A line that goes on.", "A heading", "Another one"]),
        ("Wait... Now go.", ["Wait...", "Now go."]),
        ("  \n\n ", []),
    ],
)
def test_text_falls_into_sentences(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


def say(count: int, word: str = "w") -> str:
    return " ".join(f"{word}{i}" for i in range(count))


def test_a_sentence_divides_at_its_comma() -> None:
    assert clauses([f"{say(8)}, {say(28, 'v')}."]) == [(say(8), f"{say(28, 'v')}.")]
    assert clauses([f"{say(20)} , {say(9, 'v')} ."]) == [(say(20), f"{say(9, 'v')} .")]


@pytest.mark.parametrize(("first", "second"), [(7, 10), (10, 7), (29, 10), (10, 29), (36, 0)])
def test_clauses_too_short_or_too_long_are_left_out(first: int, second: int) -> None:
    assert clauses([f"{say(first)}, {say(second, 'v')}"]) == []


def test_the_comma_that_makes_both_sides_most_equal_is_taken() -> None:
    sentence = f"{say(9)}, {say(5, 'v')}, {say(4, 'u')}, {say(9, 't')}."
    assert clauses([sentence]) == [(f"{say(9)}, {say(5, 'v')}", f"{say(4, 'u')}, {say(9, 't')}.")]


def test_a_comma_within_a_number_divides_nothing() -> None:
    assert clauses([f"{say(9)} 1,000 {say(9, 'v')}."]) == []


def test_a_first_clause_that_comes_again_is_left_out() -> None:
    one, other = f"{say(9)}, {say(9, 'v')}.", f"{say(9, 'W')}, {say(9, 'u')}."
    assert clauses([one, f"{one} {other}"]) == [(say(9), f"{say(9, 'v')}.")]


def speech(count: int = 60) -> list[str]:
    matters = ["the quiet cat sleeps in her basket today", "bright stars shine over the wide dark sea"]
    return [
        f"When we gathered in the great hall number {i}, so it was that {matters[i % 2]} and year {i} ended."
        for i in range(count)
    ]


def rows_of(pairs: Pairs) -> list[tuple[str, str, float]]:
    assert pairs.label is not None
    return [
        (pairs.texts[left], pairs.texts[right], float(label))
        for left, right, label in zip(pairs.left, pairs.right, pairs.label, strict=True)
    ]


def test_every_list_has_one_right_clause_and_wrong_ones_like_it() -> None:
    parts = completion(speech(400), negatives_per_positive=3)
    assert {name: part.lists for name, part in parts.items()} == {"train": 320, "dev": 40, "test": 40}
    for part in parts.values():
        assert len(part) == 4 * part.lists
        for left, right, label in rows_of(part):
            number = int(left.split()[-1])
            assert (f"year {number} ended" in right) == (label == 1)
            assert ("cat" if number % 2 == 0 else "stars") in right


def test_a_limit_draws_so_many_sentences() -> None:
    parts = completion(speech(), limit=20)
    assert sum(part.lists for part in parts.values()) == 20
    assert completion(speech(), limit=20, seed=1)["test"].texts != parts["test"].texts


def test_the_seed_decides() -> None:
    assert rows_of(completion(speech(), seed=5)["train"]) == rows_of(completion(speech(), seed=5)["train"])
    assert rows_of(completion(speech(), seed=5)["train"]) != rows_of(completion(speech(), seed=6)["train"])


def test_progress_rises_to_one() -> None:
    told: list[float] = []
    completion(speech(), progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_texts_without_such_a_sentence_are_refused() -> None:
    with pytest.raises(InputError, match="No sentence divides at a comma in two clauses of 8 to 28 words"):
        completion(["Too short, this."])
