"""Brackets around a text are read as its parse tree."""

import numpy as np
import pytest

from pairlight.text.inputs import InputSpec
from pairlight.text.parse import parse_brackets
from pairlight.text.tokenizer import Tokenizer


def merged(text: str) -> str | None:
    """The tree of a bracketed text, built by doing the merges one after another."""
    parsed = parse_brackets(text.split())
    if parsed is None:
        return None
    nodes, joins = parsed
    for at in joins:
        nodes[at : at + 2] = [f"({nodes[at]} {nodes[at + 1]})"]
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
def test_brackets_give_the_order_of_merges(text, tree):
    assert merged(text) == tree


@pytest.mark.parametrize(
    "text", ["a b", "( a b", "a ( b )", "( a ) b", "( a ) ( b )", "( )", "( a ( ) b )", ") a (", ""]
)
def test_brackets_that_are_not_a_tree_are_not_parsed(text):
    assert merged(text) is None


def test_merge_positions_are_aligned_with_the_ids_and_a_truncated_text_has_none():
    plain = Tokenizer.fit(["a b c"], InputSpec())
    tokenizer = Tokenizer(plain.backend, InputSpec(parse_brackets=True))
    tokenized = tokenizer.tokenize(["(a (b c))", "a b", "(a b c a b)"], 4)
    assert tokenized.lengths.tolist() == [3, 2, 4]
    assert tokenized.truncated == 1
    assert tokenized.joins.tolist() == [1, 0, -1, -1, -1, -1, -1, -1, -1]
    np.testing.assert_array_equal(tokenized.ids[:3], plain.tokenize(["a b c"], 4).ids)


def test_brackets_are_words_for_a_model_without_parse_trees():
    tokenized = Tokenizer.fit(["a b"], InputSpec()).tokenize(["(a b)"], 4)
    assert tokenized.joins is None
    assert tokenized.lengths.tolist() == [4]
