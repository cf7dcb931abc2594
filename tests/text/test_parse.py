import numpy as np
import pytest

from pairlight.text.parse import unbracketed
from pairlight.text.tokenizer import Tokenizer


def joined(text: str) -> str | None:
    """The tree of a bracketed text, built by doing the joins one after another."""
    parsed = unbracketed(text.split())
    if parsed is None:
        return None
    nodes, joins = parsed
    for place in joins:
        nodes[place : place + 2] = [f"({nodes[place]} {nodes[place + 1]})"]
    assert len(nodes) == 1
    return nodes[0]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("( a b )", "(a b)"),
        ("( a ( b c ) )", "(a (b c))"),
        ("( ( a b ) c )", "((a b) c)"),
        ("( ( a b ) ( c d ) )", "((a b) (c d))"),
        ("( a b c d )", "(((a b) c) d)"),
        ("( a ( b ( c ) ) ( d e f ) )", "((a (b c)) ((d e) f))"),
        ("( a )", "a"),
    ],
)
def test_brackets_say_which_words_join_first(text, tree):
    assert joined(text) == tree


@pytest.mark.parametrize(
    "text", ["a b", "( a b", "a ( b )", "( a ) b", "( a ) ( b )", "( )", "( a ( ) b )", ") a (", ""]
)
def test_what_is_no_parse_is_left_alone(text):
    assert joined(text) is None


def test_parses_stand_beside_the_ids_and_a_cut_text_loses_its_own():
    tokenizer = Tokenizer.fit(["a b c"])
    encoded = tokenizer.encode(["(a (b c))", "a b", "(a b c a b)"], 4, parses=True)
    assert encoded.lengths.tolist() == [3, 2, 4]
    assert encoded.joins.tolist() == [1, 0, -1, -1, -1, -1, -1, -1, -1]
    assert tokenizer.encode(["(a b)"], 4).joins is None
    np.testing.assert_array_equal(encoded.ids[:3], tokenizer.encode(["a b c"], 4).ids)
