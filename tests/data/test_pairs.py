"""The pair table keeps every distinct text once and every list together."""

import numpy as np
import pytest

from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError


def table() -> Pairs:
    return Pairs.of(
        ["a", "b", "a", "c", "b"],
        ["x", "a", "y", "x", "猫🐈"],
        [1, 0, 0.5, 2, 0],
        ["1", "2", "1", "3", "2"],
        ["p", "q", "r", "s", "t"],
    )


def test_a_text_that_comes_again_is_kept_once() -> None:
    pairs = table()
    assert sorted(pairs.texts) == sorted(["a", "b", "c", "x", "y", "猫🐈"])
    assert [pairs.texts[i] for i in pairs.left] == ["a", "b", "a", "c", "b"]
    assert [pairs.texts[i] for i in pairs.right] == ["x", "a", "y", "x", "猫🐈"]


def test_lists_are_numbered_in_order_of_appearance_by_left_id() -> None:
    assert table().group.tolist() == [0, 1, 0, 2, 1]
    assert table().lists == 3
    assert Pairs.of(["a", "a", "a"], ["x", "y", "z"], left_id=["2", "1", "2"]).group.tolist() == [0, 1, 0]


def test_without_ids_lists_are_numbered_by_left_text() -> None:
    assert Pairs.of(["b", "a", "b"], ["x", "y", "z"]).group.tolist() == [0, 1, 0]


@pytest.mark.parametrize("rows", [[4, 0, 3], [0, 1, 2, 3, 4], [2, 2], [1], []])
def test_taking_rows_equals_a_table_made_of_them(rows: list[int]) -> None:
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


def test_taking_from_an_unlabelled_table_leaves_it_unlabelled() -> None:
    taken = Pairs.of(["a", "b"], ["x", "y"]).take([1])
    assert (taken.label, taken.left_id, taken.right_id) == (None, None, None)
    assert taken.texts == ["b", "y"]


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(InputError, match="right has 1 values and left has 2"):
        Pairs.of(["a", "b"], ["x"])
    with pytest.raises(InputError, match="label has 1 values and left has 2"):
        Pairs.of(["a", "b"], ["x", "y"], [1])
