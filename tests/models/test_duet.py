import pytest

from pairlight.core.errors import InputError
from pairlight.models import build


def test_a_left_length_without_a_window_is_refused():
    with pytest.raises(InputError, match="left_length=2 is too small: a window needs at least 3 words"):
        build("duet", 30, left_length=2)


def test_a_pool_wider_than_the_right_text_is_refused():
    with pytest.raises(InputError, match="right_length=11 is too small: pool=10 needs at least 12 words"):
        build("duet", 30, right_length=11)


def test_the_papers_sizes_give_the_papers_widths():
    heads = {"left_length": 10, "right_length": 1000, "hidden": 3, "pool": 100}
    model = build("duet", 30, **heads)
    assert model.local_head[0].in_features == 10 * 3
    assert model.distributed_head[0].in_features == 899 * 3
