"""Warnings of work that is done in parts: the first of each kind is shown, not one for every part."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_NUMBER = re.compile(r"\d[\d,.]*")


@contextmanager
def first_of_each_kind(seen: set[str]) -> Iterator[None]:
    """Show a warning of the block unless one that differs only in its numbers is in `seen`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for each in caught:
        kind = _NUMBER.sub("", str(each.message))
        if kind not in seen:
            seen.add(kind)
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
