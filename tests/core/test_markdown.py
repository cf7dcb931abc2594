"""Markdown tables are aligned, and their cells are escaped."""

import pytest

from pairlight.core.markdown import markdown_table


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
