"""Markdown tables."""

from collections.abc import Iterable, Sequence

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


def _escaped(value: object) -> str:
    # A cell ends at a pipe or a line end, even inside backticks.
    return " ".join(str(value).splitlines()).replace("|", "\\|")
