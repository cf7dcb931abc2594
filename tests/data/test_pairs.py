"""The table of pairs stores every distinct text once and numbers the ranking lists."""

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs, concat_pairs, duplicate_keys


def table() -> Pairs:
    return Pairs.of(
        ["a", "b", "a", "c", "b"],
        ["x", "a", "y", "x", "猫🐈"],
        [1, 0, 0.5, 2, 0],
        ["1", "2", "1", "3", "2"],
        ["p", "q", "r", "s", "t"],
    )


def test_a_repeated_text_is_stored_once() -> None:
    pairs = table()
    assert sorted(pairs.texts) == sorted(["a", "b", "c", "x", "y", "猫🐈"])
    assert [pairs.texts[i] for i in pairs.left] == ["a", "b", "a", "c", "b"]
    assert [pairs.texts[i] for i in pairs.right] == ["x", "a", "y", "x", "猫🐈"]


def test_lists_are_numbered_by_left_id_in_order_of_appearance() -> None:
    assert table().group.tolist() == [0, 1, 0, 2, 1]
    assert table().lists == 3
    assert Pairs.of(["a", "a", "a"], ["x", "y", "z"], left_id=["2", "1", "2"]).group.tolist() == [0, 1, 0]


def test_without_ids_lists_are_numbered_by_left_text() -> None:
    assert Pairs.of(["b", "a", "b"], ["x", "y", "z"]).group.tolist() == [0, 1, 0]


@pytest.mark.parametrize("rows", [[4, 0, 3], [0, 1, 2, 3, 4], [2, 2], [1], []])
def test_taking_rows_equals_a_table_made_from_them(rows: list[int]) -> None:
    pairs = table()
    assert pairs.label is not None
    assert pairs.left_id is not None
    assert pairs.right_id is not None
    taken = pairs.take(rows)
    made = Pairs.of(
        [pairs.texts[pairs.left[i]] for i in rows],
        [pairs.texts[pairs.right[i]] for i in rows],
        pairs.label[rows].tolist(),
        [pairs.left_id[i] for i in rows],
        [pairs.right_id[i] for i in rows],
    )
    for name in ("texts", "left_id", "right_id"):
        assert getattr(taken, name) == getattr(made, name)
    for name in ("left", "right", "group", "label"):
        np.testing.assert_array_equal(getattr(taken, name), getattr(made, name))
        assert getattr(taken, name).dtype == getattr(made, name).dtype


def test_rows_of_a_table_without_labels_have_no_labels() -> None:
    taken = Pairs.of(["a", "b"], ["x", "y"]).take([1])
    assert (taken.label, taken.left_id, taken.right_id) == (None, None, None)
    assert taken.texts == ["b", "y"]


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(InputError, match="right has 1 values, but left has 2"):
        Pairs.of(["a", "b"], ["x"])
    with pytest.raises(InputError, match="label has 1 values, but left has 2"):
        Pairs.of(["a", "b"], ["x", "y"], [1])


def test_missing_labels_are_an_error_where_they_are_needed() -> None:
    with pytest.raises(InputError, match="These 1 pairs have no labels") as caught:
        _ = Pairs.of(["a"], ["x"]).labels
    assert caught.value.option == "label"


def test_the_digest_depends_on_texts_lists_and_labels() -> None:
    tables = [
        table(),
        Pairs.of(["a", "b"], ["x", "y"]),
        Pairs.of(["a", "b"], ["x", "z"]),
        Pairs.of(["a", "b"], ["x", "y"], [0, 1]),
        Pairs.of(["a", "b"], ["x", "y"], [1, 0]),
        Pairs.of(["a", "b"], ["x", "y"], None, ["1", "1"]),
    ]
    assert len({pairs.digest() for pairs in tables}) == len(tables)
    assert table().digest() == table().digest()


def test_concatenated_tables_have_all_rows_with_labels_and_ids() -> None:
    pairs = table()
    joined = concat_pairs([pairs.take([0, 1]), pairs.take([2, 3, 4])])
    for name in ("left_id", "right_id"):
        assert getattr(joined, name) == getattr(pairs, name)
    assert [joined.texts[i] for i in joined.right] == [pairs.texts[i] for i in pairs.right]
    np.testing.assert_array_equal(joined.labels, pairs.labels)
    np.testing.assert_array_equal(joined.group, pairs.group)


def test_a_column_that_one_table_lacks_is_left_out() -> None:
    joined = concat_pairs([table(), Pairs.of(["a"], ["x"])])
    assert (joined.label, joined.left_id, joined.right_id) == (None, None, None)
    assert len(joined) == 6


def test_duplicates_differ_only_in_case_and_whitespace() -> None:
    assert duplicate_keys(["A  b", "a b ", "ab", "a\tB", "straße", "STRASSE"]).tolist() == [0, 0, 1, 0, 2, 2]
