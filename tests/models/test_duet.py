"""DUET: the lengths that it accepts and the sizes that follow from them."""

import pytest

from pairlight.core.errors import InputError
from pairlight.models import build


def test_a_left_length_shorter_than_a_window_is_rejected():
    with pytest.raises(InputError, match="left_length=2 is too small: a window has 3 words, so use at least 3"):
        build("duet", 30, left_length=2)


def test_a_right_length_shorter_than_the_pool_is_rejected():
    with pytest.raises(InputError, match="right_length=11 is too small for pool=10: use at least 12"):
        build("duet", 30, right_length=11)


def test_the_sizes_of_the_paper_give_the_input_sizes_of_the_paper():
    model = build("duet", 30, left_length=10, right_length=1000, hidden=3, pool=100)
    assert model.local_head[0].weight.shape[1] == 10 * 3
    assert model.distributed_head[0].weight.shape[1] == 899 * 3
