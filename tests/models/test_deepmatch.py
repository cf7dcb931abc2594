"""DeepMatch's own rules: topics in falling numbers, and no weight where there is no link."""

import pytest
import torch

from models.toy import Case, ready, texts, tokens
from pairlight.core.errors import InputError
from pairlight.models import build

SMALL = {"topics": "6,3", "patch": 5, "units": 2, "links": 2, "committee": 3}


@pytest.mark.parametrize("topics", ["", "0", "ten", "5,5", "5,10", "5,,2", "-3"])
def test_topics_that_are_no_falling_numbers_are_refused(topics):
    with pytest.raises(InputError, match="give such as 20,10,5"):
        build("deepmatch", 30, topics=topics)


def test_where_there_is_no_link_there_is_no_gradient():
    model = ready(Case("deepmatch", SMALL))
    layer = model.layers[0]
    assert 2 * 3 <= layer.links.sum() < layer.links.numel()
    model(tokens(model, texts(20, seed=1)), tokens(model, texts(20, seed=2))).sum().backward()
    apart = ~layer.links.repeat_interleave(2, 0).repeat_interleave(2, 1)
    assert (layer.weight.grad[apart] == 0).all()
    assert (layer.weight.grad[~apart] != 0).any()


def test_a_model_prepared_twice_has_the_same_structure():
    a, b = (ready(Case("deepmatch", SMALL), seed=seed) for seed in (0, 1))
    assert all(torch.equal(x, y) for x, y in zip(a.buffers(), b.buffers(), strict=True))
