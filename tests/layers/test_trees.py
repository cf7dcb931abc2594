"""Trees out of joins: children, heights and the order of the nodes, worked out by hand."""

import numpy as np
import torch

from pairlight.layers.trees import trees_of, without


def test_children_heights_and_order_of_a_tree_worked_out_by_hand():
    # ((a b) (c d)) e: first c d, then a b, then both, then e.
    trees = trees_of(torch.tensor([[2, 0, 0, 0]]), torch.tensor([5]))
    assert trees.children[0].tolist() == [[2, 3], [0, 1], [6, 5], [7, 4]]
    assert trees.height[0].tolist() == [1, 1, 2, 3]
    # From the root, left first: all, (a b)(c d), a b, c d; read from its end.
    assert trees.order[0].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_the_right_subtree_stands_before_the_left_one_whichever_was_joined_first():
    left_first = trees_of(torch.tensor([[0, 1, 0]]), torch.tensor([4]))
    assert left_first.children[0].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert left_first.order[0].tolist() == [0, 1, 2, 3, 5, 4, 6]


def test_a_short_text_in_a_wide_batch_has_the_same_tree_as_alone():
    alone = trees_of(torch.tensor([[1, 0]]), torch.tensor([3]))
    wide = trees_of(torch.tensor([[1, 0, 0, 0], [3, 2, 1, 0]]), torch.tensor([3, 5]))
    assert alone.order[0].tolist() == [0, 1, 2, 3, 4]
    # Numbers of inner nodes begin behind the widest text: 5 instead of 3.
    assert wide.order[0, :5].tolist() == [0, 1, 2, 5, 6]
    assert wide.children[0, :2].tolist() == [[1, 2], [0, 5]]
    assert wide.height[0].tolist() == [1, 2, 0, 0]
    assert wide.mask.sum(1).tolist() == [5, 9]


def test_a_text_of_one_word_is_its_own_tree():
    trees = trees_of(torch.zeros(2, 0, dtype=torch.long), torch.tensor([1, 1]))
    assert trees.order.tolist() == [[0], [0]]
    assert trees.mask.all()
    assert trees.children.shape == (2, 0, 2)


def test_every_node_comes_once_with_its_children_before_it():
    rng = np.random.default_rng(0)
    for n in range(2, 12):
        joins = torch.tensor([[int(rng.integers(0, n - 1 - k)) for k in range(n - 1)]])
        trees = trees_of(joins, torch.tensor([n]))
        order = trees.order[0].tolist()
        assert sorted(order) == list(range(2 * n - 1))
        for k, (a, b) in enumerate(trees.children[0].tolist()):
            assert order.index(a) < order.index(n + k)
            assert order.index(b) < order.index(n + k)


def test_one_entry_of_each_row_is_taken_out():
    x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    assert without(x, torch.tensor([0, 2])).tolist() == [[2, 3], [4, 5]]
