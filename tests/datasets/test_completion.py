"""Sentence completion: sentences are split at a comma, and the second clause is ranked among similar ones."""

import pytest

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
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
def test_a_text_is_split_into_sentences(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


def words(count: int, word: str = "w") -> str:
    return " ".join(f"{word}{i}" for i in range(count))


def test_a_sentence_is_divided_at_its_comma() -> None:
    assert clauses([f"{words(8)}, {words(28, 'v')}."]) == [(words(8), f"{words(28, 'v')}.")]
    assert clauses([f"{words(20)} , {words(9, 'v')} ."]) == [(words(20), f"{words(9, 'v')} .")]


@pytest.mark.parametrize(("first", "second"), [(7, 10), (10, 7), (29, 10), (10, 29), (36, 0)])
def test_sentences_with_too_short_or_too_long_clauses_are_left_out(first: int, second: int) -> None:
    assert clauses([f"{words(first)}, {words(second, 'v')}"]) == []


def test_the_comma_that_makes_the_clauses_most_equal_is_used() -> None:
    sentence = f"{words(9)}, {words(5, 'v')}, {words(4, 'u')}, {words(9, 't')}."
    assert clauses([sentence]) == [(f"{words(9)}, {words(5, 'v')}", f"{words(4, 'u')}, {words(9, 't')}.")]


def test_a_comma_inside_a_number_does_not_divide_a_sentence() -> None:
    assert clauses([f"{words(9)} 1,000 {words(9, 'v')}."]) == []


def test_a_repeated_first_clause_is_left_out() -> None:
    one, other = f"{words(9)}, {words(9, 'v')}.", f"{words(9, 'W')}, {words(9, 'u')}."
    assert clauses([one, f"{one} {other}"]) == [(words(9), f"{words(9, 'v')}.")]


def speech(count: int = 60) -> list[str]:
    subjects = ["the quiet cat sleeps in her basket today", "bright stars shine over the wide dark sea"]
    return [
        f"When we gathered in the great hall number {i}, so it was that {subjects[i % 2]} and year {i} ended."
        for i in range(count)
    ]


def rows_of(pairs: Pairs) -> list[tuple[str, str, float]]:
    assert pairs.label is not None
    return [
        (pairs.texts[left], pairs.texts[right], float(label))
        for left, right, label in zip(pairs.left, pairs.right, pairs.label, strict=True)
    ]


def test_every_list_has_one_positive_and_similar_negatives() -> None:
    parts = completion(speech(400), negatives_per_positive=3)
    assert {name: part.lists for name, part in parts.items()} == {"train": 320, "dev": 40, "test": 40}
    for part in parts.values():
        assert len(part) == 4 * part.lists
        for left, right, label in rows_of(part):
            number = int(left.split()[-1])
            assert (f"year {number} ended" in right) == (label == 1)
            assert ("cat" if number % 2 == 0 else "stars") in right


def test_the_limit_is_the_number_of_sentences() -> None:
    parts = completion(speech(), limit=20)
    assert sum(part.lists for part in parts.values()) == 20
    assert completion(speech(), limit=20, seed=1)["test"].texts != parts["test"].texts


def test_the_seed_determines_the_dataset() -> None:
    assert rows_of(completion(speech(), seed=5)["train"]) == rows_of(completion(speech(), seed=5)["train"])
    assert rows_of(completion(speech(), seed=5)["train"]) != rows_of(completion(speech(), seed=6)["train"])


def test_progress_increases_to_one() -> None:
    reported: list[float] = []
    completion(speech(), progress=reported.append)
    assert reported == sorted(reported)
    assert reported[-1] == 1.0


def test_texts_without_a_suitable_sentence_are_refused() -> None:
    with pytest.raises(InputError, match="No sentence has a comma between two clauses of 8 to 28 words"):
        completion(["Too short, this."])
