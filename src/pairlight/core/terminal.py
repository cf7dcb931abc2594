"""Text that is safe to print to a terminal."""

import re

# All control characters but tab and newline, and those of Unicode that end a line or show it in another order.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text with spaces for its control characters, which a terminal would execute; its length does not change."""
    return _CONTROL.sub(" ", text)


def printable_line(text: str) -> str:
    """The text in one line, without control characters."""
    return printable(text.replace("\n", " ").replace("\t", " "))
