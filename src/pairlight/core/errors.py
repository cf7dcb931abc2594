"""The error raised for invalid input, and suggestions for misspelled names."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """The user's input cannot be used; the message names the value, the rule and the fix.

    `option` is the Python parameter that the fix is about, for example "skip_bad_rows". The command line turns it
    into the name of a flag, so messages never contain flags themselves.
    """

    def __init__(self, message: str, *, option: str | None = None) -> None:
        super().__init__(message)
        self.option = option


def unknown_name(kind: str, name: str, known: Iterable[str], *, option: str | None = None) -> InputError:
    """Return the error for a name that does not exist, with the most similar name that does."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return InputError(f"No {kind} named {name!r}.{hint} Choose from: {', '.join(known)}.", option=option)
