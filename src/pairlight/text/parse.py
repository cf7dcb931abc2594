"""A parse that the user has: brackets around a text, as in ((the cat) (sat (on it))), say which words join first."""

from collections.abc import Sequence


def unbracketed(words: Sequence[str]) -> tuple[list[str], list[int]] | None:
    """The words without their brackets, and the joins that the brackets ask for; None where they are no parse.

    Step k joins what then stands at place joins[k] with what stands behind it. More than two in one bracket join from
    left to right. A parse is one bracket around all, with every bracket inside closed and none empty.
    """
    if len(words) < 3 or words[0] != "(":
        return None
    plain: list[str] = []
    joins: list[int] = []
    opened: list[int] = []  # how many nodes stood to the left where each bracket opened
    nodes = 0
    for place, word in enumerate(words):
        if word == "(":
            opened.append(nodes)
        elif word == ")":
            if not opened or nodes == opened[-1]:
                return None
            first = opened.pop()
            joins += [first] * (nodes - first - 1)
            nodes = first + 1
            if not opened and place < len(words) - 1:
                return None
        else:
            plain.append(word)
            nodes += 1
    return None if opened else (plain, joins)
