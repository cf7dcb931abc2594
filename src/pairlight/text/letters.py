"""The letters of a word as a second view: the pieces that `#word#` is spelt with."""

from collections.abc import Callable


def trigrams(word: str) -> list[str]:
    """Every three letters in a row of the word between marks: candy -> #ca can and ndy dy#."""
    marked = f"#{word}#"
    return [marked[i : i + 3] for i in range(len(marked) - 2)]


def ngraphs(word: str) -> list[str]:
    """Every one to five letters in a row of the word between marks, the view of the Duet model."""
    marked = f"#{word}#"
    return [marked[i : i + n] for n in range(1, 6) for i in range(len(marked) - n + 1)]


SPELLINGS: dict[str, Callable[[str], list[str]]] = {"trigrams": trigrams, "ngraphs": ngraphs}
