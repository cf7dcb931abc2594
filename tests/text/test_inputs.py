"""What a model reads is declared as data."""

import pytest

from pairlight.core.errors import InputError
from pairlight.text.inputs import WORDS, InputSpec


def test_a_word_is_one_unit_of_words_and_several_of_ngrams():
    assert WORDS.units("cat") == ["cat"]
    assert InputSpec("trigrams").units("cat") == ["#ca", "cat", "at#"]


def test_an_unknown_input_kind_is_refused():
    with pytest.raises(InputError, match="no input kind 'syllables': use one of words, trigrams, ngraphs"):
        InputSpec("syllables")
