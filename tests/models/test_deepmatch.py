"""DeepMatch: its list of topic counts, the links between topics, and its statistics."""

import pytest
import torch

from models.toy import Case, ready, texts, tokens
from pairlight.core.errors import InputError
from pairlight.models import build

SMALL = {"topics": "6,3", "patch": 5, "units": 2, "links": 2, "committee": 3}


@pytest.mark.parametrize("topics", ["", "0", "ten", "5,5", "5,10", "5,,2", "-3"])
def test_topics_that_are_not_decreasing_numbers_are_rejected(topics):
    with pytest.raises(InputError, match="use for example 20,10,5"):
        build("deepmatch", 30, topics=topics)


def test_topics_that_are_not_linked_get_no_gradient():
    model = ready(Case("deepmatch", SMALL))
    layer = model.linked[0]
    assert 2 * 3 <= layer.links.sum() < layer.links.numel()
    model(tokens(model, texts(20, seed=1)), tokens(model, texts(20, seed=2))).sum().backward()
    unlinked = ~layer.links.repeat_interleave(2, 0).repeat_interleave(2, 1)
    assert (layer.weight.grad[unlinked] == 0).all()
    assert (layer.weight.grad[~unlinked] != 0).any()


def test_statistics_computed_twice_are_equal():
    a, b = (ready(Case("deepmatch", SMALL), seed=seed) for seed in (0, 1))
    assert all(torch.equal(x, y) for x, y in zip(a.buffers(), b.buffers(), strict=True))
