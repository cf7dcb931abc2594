"""Trees built from merge positions: children, heights and the order of the nodes."""

import numpy as np
import torch

from pairlight.layers.trees import build_trees, delete_at


def test_children_heights_and_order_equal_a_hand_worked_tree():
    # ((a b) (c d)) e: first c d, then a b, then both, then e.
    trees = build_trees(torch.tensor([[2, 0, 0, 0]]), torch.tensor([5]))
    assert trees.children[0].tolist() == [[2, 3], [0, 1], [6, 5], [7, 4]]
    assert trees.height[0].tolist() == [1, 1, 2, 3]
    # From the root, first child first: all, (a b)(c d), a b, c d; in reverse.
    assert trees.order[0].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_the_second_subtree_precedes_the_first_whichever_was_joined_first():
    first_joined_first = build_trees(torch.tensor([[0, 1, 0]]), torch.tensor([4]))
    assert first_joined_first.children[0].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert first_joined_first.order[0].tolist() == [0, 1, 2, 3, 5, 4, 6]


def test_a_short_text_in_a_batch_has_the_same_tree_as_alone():
    alone = build_trees(torch.tensor([[1, 0]]), torch.tensor([3]))
    wide = build_trees(torch.tensor([[1, 0, 0, 0], [3, 2, 1, 0]]), torch.tensor([3, 5]))
    assert alone.order[0].tolist() == [0, 1, 2, 3, 4]
    # Inner nodes are numbered from the length of the longest text: from 5 instead of 3.
    assert wide.order[0, :5].tolist() == [0, 1, 2, 5, 6]
    assert wide.children[0, :2].tolist() == [[1, 2], [0, 5]]
    assert wide.height[0].tolist() == [1, 2, 0, 0]
    assert wide.mask.sum(1).tolist() == [5, 9]


def test_a_one_word_text_is_a_tree_of_one_node():
    trees = build_trees(torch.zeros(2, 0, dtype=torch.long), torch.tensor([1, 1]))
    assert trees.order.tolist() == [[0], [0]]
    assert trees.mask.all()
    assert trees.children.shape == (2, 0, 2)


def test_every_node_occurs_once_after_its_children():
    rng = np.random.default_rng(0)
    for n in range(2, 12):
        joins = torch.tensor([[int(rng.integers(0, n - 1 - k)) for k in range(n - 1)]])
        trees = build_trees(joins, torch.tensor([n]))
        order = trees.order[0].tolist()
        assert sorted(order) == list(range(2 * n - 1))
        for k, (a, b) in enumerate(trees.children[0].tolist()):
            assert order.index(a) < order.index(n + k)
            assert order.index(b) < order.index(n + k)


def test_one_entry_of_each_row_is_deleted():
    x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    assert delete_at(x, torch.tensor([0, 2])).tolist() == [[2, 3], [4, 5]]
