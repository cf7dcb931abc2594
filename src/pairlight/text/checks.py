"""Checks of single texts."""

import re
import reprlib
from collections.abc import Sequence

from pairlight.core.errors import InputError

_SURROGATE = re.compile("[\ud800-\udfff]")

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60
short_repr = _short.repr  # a value as it is shown in messages, at most 60 characters


def text_fault(text: object) -> str | None:
    """Describe why `text` cannot be used as a text, and the fix; None if it can be used."""
    if not isinstance(text, str):
        return "is not a string: give a str."
    if not text or text.isspace():
        return "is empty: give a text with at least one word."
    if "\0" in text:
        return "contains a NUL character: remove it."
    if not is_unicode(text):
        return "is not valid Unicode (it contains a lone surrogate): save or decode the text as UTF-8."
    return None


def is_unicode(text: str) -> bool:
    """Whether the text can be encoded as UTF-8.

    Bytes of a file that are not UTF-8 are read as lone surrogates, and JSON can contain one as an escape.
    """
    return text.isascii() or not _SURROGATE.search(text)


def check_text(role: str, text: object) -> None:
    """Raise InputError if `text` cannot be used; `role` names it in the message: "left text"."""
    if (fault := text_fault(text)) is not None:
        raise InputError(f"The {role} {short_repr(text)} {fault}")


def check_texts(texts: Sequence[str]) -> None:
    """Raise InputError if `texts` is not a list of usable right texts."""
    if isinstance(texts, str):  # also a sequence of strings, each a single character
        raise InputError(f"{short_repr(texts)} is a single text: give a list of texts.")
    for number, text in enumerate(texts, 1):
        check_text(f"right text {number}", text)
