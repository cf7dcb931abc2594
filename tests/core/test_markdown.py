"""Markdown tables are aligned, and their cells are escaped."""

import pytest

from pairlight.core.markdown import code_block, escape_markdown, inline_code, markdown_table


def test_columns_are_left_aligned_by_default():
    assert markdown_table(["name", "value"], [("k", 5), ("hidden", None)]) == (
        "| name | value |\n| --- | --- |\n| k | 5 |\n| hidden | None |"
    )


def test_each_column_can_be_aligned():
    assert markdown_table(["a", "b", "c"], [], "lrc").splitlines()[1] == "| --- | ---: | :---: |"


def test_pipes_and_line_ends_do_not_break_a_row():
    assert markdown_table(["a"], [["x|y\nz"]]).splitlines()[2] == "| x\\|y z |"


@pytest.mark.parametrize("align", ["l", "lrr", "lx"])
def test_the_alignment_must_fit_the_columns(align):
    with pytest.raises(ValueError, match="for each of 2 columns"):
        markdown_table(["a", "b"], [], align)


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="has 1 cells, but the table has 2 columns"):
        markdown_table(["a", "b"], [["x"]])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<img src=x onerror=alert(1)>", "\\<img src=x onerror=alert(1)>"),
        ("</td><!-- x -->", "\\</td>\\<!-- x -->"),
        ("[a](javascript:b)", "[a]\\(javascript:b)"),
        ("one\n# two\x1b[2J", "one # two [2J"),
        ("`code <b>` and ` <b>", "`code <b>` and \\` \\<b>"),
        ("1 < 2, [1, 2]", "1 < 2, [1, 2]"),
        ("\\`<img src=x onerror=alert(1)>`", "\\\\`<img src=x onerror=alert(1)>`"),  # code, and no HTML
    ],
)
def test_a_text_of_others_is_shown_as_it_is(text, shown):
    assert escape_markdown(text) == shown


def test_code_is_not_ended_by_its_contents():
    assert code_block("a\n```\n<img>") == "````\na\n```\n<img>\n````"
    assert inline_code("a`<img>`\n") == "`a'<img>' `"
