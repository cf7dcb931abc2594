"""Markdown tables, and texts of others inside Markdown."""

import re
from collections.abc import Iterable, Sequence

from pairlight.core.terminal import printable, printable_line

_CODE = re.compile(r"(`[^`]*`)")  # a backtick that is not closed begins no code
# HTML, the middle of a link, a backtick, and a backslash, before which a backtick would begin no code.
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])[(\[]|[`\\]")
_RULES = {"l": "---", "r": "---:", "c": ":---:"}


def markdown_table(head: Sequence[object], rows: Iterable[Sequence[object]], align: str = "") -> str:
    """Format a table; `align` has one letter per column: l, r or c. By default all columns are left-aligned."""
    align = align or "l" * len(head)
    if len(align) != len(head) or not set(align) <= set(_RULES):
        raise ValueError(f"align={align!r} must have one of the letters l, r, c for each of {len(head)} columns.")
    lines = [head, [_RULES[letter] for letter in align]]
    for row in rows:
        if len(row) != len(head):
            raise ValueError(f"The row {row!r} has {len(row)} cells, but the table has {len(head)} columns.")
        lines.append(row)
    return "\n".join("| " + " | ".join(map(_escaped, line)) + " |" for line in lines)


def escape_markdown(text: object) -> str:
    """The text in one line, shown as it is: without HTML, links or control characters, but with `code`."""
    parts = _CODE.split(printable_line(" ".join(str(text).splitlines())))
    return "".join(part if number % 2 else _MARKUP.sub(r"\\\g<0>", part) for number, part in enumerate(parts))


def code_block(text: str) -> str:
    """The text as a block of code, which nothing in it can end."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{printable(text)}\n{fence}"


def inline_code(text: str) -> str:
    """The text as code in a line; backticks become apostrophes."""
    return f"`{printable_line(text).replace('`', chr(39))}`"


def _escaped(value: object) -> str:
    # A cell ends at a pipe or a line end, even inside backticks.
    return " ".join(str(value).splitlines()).replace("|", "\\|")
