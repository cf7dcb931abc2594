"""Parse trees written as brackets around a text: ((the cat) (sat (on it)))."""

from collections.abc import Sequence


def parse_brackets(words: Sequence[str]) -> tuple[list[str], list[int]] | None:
    """Return the words without brackets and the merge positions of the tree, or None if the brackets are not a tree.

    Step k merges the node at position joins[k] with the node after it. More than two nodes in a bracket are merged
    from left to right. The brackets are a tree if one pair encloses the whole text, every bracket is closed, and none
    is empty.
    """
    if len(words) < 3 or words[0] != "(":
        return None
    plain: list[str] = []
    joins: list[int] = []
    opened: list[int] = []  # for each open bracket, the number of nodes before it
    nodes = 0
    for position, word in enumerate(words):
        if word == "(":
            opened.append(nodes)
        elif word == ")":
            if not opened or nodes == opened[-1]:
                return None
            first = opened.pop()
            joins += [first] * (nodes - first - 1)
            nodes = first + 1
            if not opened and position < len(words) - 1:
                return None
        else:
            plain.append(word)
            nodes += 1
    return None if opened else (plain, joins)
