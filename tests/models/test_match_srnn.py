"""Match-SRNN on exact matches: the form that counts common subsequences does not use word vectors."""

import numpy as np
import pytest
import torch

from models.toy import Case, ready, texts, tokens
from reference import REFERENCES

LEFT, RIGHT = texts(8, seed=21), [[*text, 2, 3] for text in texts(8, seed=22)]


@pytest.mark.parametrize("name", ["match-srnn", "bi-match-srnn"])
def test_with_the_indicator_it_equals_its_reference_and_ignores_word_vectors(name):
    model = ready(Case(name, {"interaction": "indicator", "hidden": 1, "reset_gates": False, "dim": 6}))
    left, right = tokens(model, LEFT), tokens(model, RIGHT)
    weights = {key: tensor.numpy().copy() for key, tensor in model.state_dict().items()}
    expected = [REFERENCES[name](weights, model.settings, a, b, None) for a, b in zip(LEFT, RIGHT, strict=True)]
    with torch.no_grad():
        np.testing.assert_allclose(model(left, right).numpy(), expected, rtol=1e-9)
        before = model(left, right)
        model.embed.embedding.weight.normal_()
        assert (model(left, right) == before).all()
