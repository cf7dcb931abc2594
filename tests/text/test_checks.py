"""A text that cannot be used is refused with the reason."""

import pytest

from pairlight.core.errors import InputError
from pairlight.text.checks import check_text, check_texts, text_fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (5, "is not a string"),
        (None, "is not a string"),
        ("", "is empty"),
        (" \t\u3000", "is empty"),
        ("a\0b", "contains a NUL character"),
        ("a\ud800", "is not valid Unicode"),
    ],
)
def test_a_text_that_cannot_be_used_has_a_fault(text, fault):
    assert (text_fault(text) or "").startswith(fault)
    with pytest.raises(InputError, match=f"The left text .* {fault}"):
        check_text("left text", text)
    with pytest.raises(InputError, match=f"The right text 2 .* {fault}"):
        check_texts(["fine", text])


@pytest.mark.parametrize("text", ["a", "猫", "🐈", "?!", " a "])
def test_a_text_with_any_visible_character_has_no_fault(text):
    assert text_fault(text) is None
    check_text("left text", text)
    check_texts([text])


def test_a_single_text_is_not_a_list_of_texts():
    with pytest.raises(InputError, match="'abc' is a single text: give a list of texts"):
        check_texts("abc")


def test_a_long_text_is_shortened_in_the_message():
    with pytest.raises(InputError) as caught:
        check_text("left text", "a" * 10_000 + "\0")
    assert len(str(caught.value)) < 200
