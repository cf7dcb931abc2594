"""Errors for invalid input carry the parameter concerned, and misspelled names get a suggestion."""

from pairlight.core.errors import InputError, unknown_name


def test_an_input_error_is_a_value_error_with_an_optional_parameter_name():
    plain, with_option = InputError("no"), InputError("no", option="left")
    assert isinstance(plain, ValueError)
    assert (str(plain), plain.option) == ("no", None)
    assert (str(with_option), with_option.option) == ("no", "left")


def test_an_unknown_name_is_answered_with_the_most_similar_one():
    error = unknown_name("model", "mvlstm", ["bm25", "mv-lstm"], option="model")
    assert str(error) == "No model named 'mvlstm'. Did you mean 'mv-lstm'? Choose from: bm25, mv-lstm."
    assert error.option == "model"


def test_nothing_is_suggested_for_a_name_unlike_all_others():
    assert str(unknown_name("model", "zzz", ["bm25"])) == "No model named 'zzz'. Choose from: bm25."
