"""Character n-grams of a word."""


def trigrams(word: str) -> list[str]:
    """Every three consecutive characters of the word between marks: candy -> #ca can and ndy dy#."""
    marked = f"#{word}#"
    return [marked[i : i + 3] for i in range(len(marked) - 2)]


def ngraphs(word: str) -> list[str]:
    """Every one to five consecutive characters of the word between marks, the input of DUET."""
    marked = f"#{word}#"
    return [marked[i : i + n] for n in range(1, 6) for i in range(len(marked) - n + 1)]
