from pairlight.text.ngrams import ngraphs, trigrams


def test_a_word_is_spelt_between_marks():
    assert trigrams("good") == ["#go", "goo", "ood", "od#"]
    assert trigrams("a") == ["#a#"]


def test_ngraphs_are_all_runs_of_one_to_five_letters_up_to_the_last():
    assert ngraphs("ab") == ["#", "a", "b", "#", "#a", "ab", "b#", "#ab", "ab#", "#ab#"]
    assert "bcde#" in ngraphs("abcde")
