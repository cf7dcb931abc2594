"""The error that users meet, and suggestions for misspelt names."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Something the user gave cannot be used; the message names the value, the rule and the fix."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that does not exist, with the closest one that does."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return InputError(f"No {kind} named {name!r}.{hint} Choose from: {', '.join(known)}.")
