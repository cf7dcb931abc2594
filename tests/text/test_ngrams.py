"""Character n-grams of a word."""

from pairlight.text.ngrams import ngraphs, trigrams


def test_trigrams_include_the_marks_at_both_ends_of_the_word():
    assert trigrams("good") == ["#go", "goo", "ood", "od#"]
    assert trigrams("a") == ["#a#"]


def test_ngraphs_are_all_substrings_of_one_to_five_characters():
    assert ngraphs("ab") == ["#", "a", "b", "#", "#a", "ab", "b#", "#ab", "ab#", "#ab#"]
    assert "bcde#" in ngraphs("abcde")
