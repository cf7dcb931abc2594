"""Texts that come alone are asked what a table of pairs asks of its own."""

import re
import reprlib
from collections.abc import Sequence

from pairlight.core.errors import InputError

_UNFIT = re.compile("[\0\ud800-\udfff]")


def check_texts(texts: Sequence[str]) -> None:
    if isinstance(texts, str):  # a sequence of texts too, each of one letter
        raise InputError(f"{reprlib.repr(texts)} is a single text: give a list of them.")
    for number, text in enumerate(texts, 1):
        check_text(f"right text {number}", text)


def check_text(role: str, text: object) -> None:
    fault = None
    if not isinstance(text, str):
        fault = "is no text: give a str."
    elif not text or text.isspace():
        fault = "has no word: give a text of one or more."
    elif _UNFIT.search(text):
        fault = "holds a NUL or half a character (a lone surrogate): remove it."
    if fault is not None:
        raise InputError(f"The {role} {reprlib.repr(text)} {fault}")
