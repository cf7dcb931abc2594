"""MatchPyramid on exact matches only. This is not among the cases of all models: word vectors get no gradient."""

import numpy as np
import torch

from models.toy import Case, ready, texts, tokens
from reference import REFERENCES


def test_with_the_indicator_it_equals_its_reference():
    model = ready(Case("match-pyramid", {"interaction": "indicator", "maps": 3, "deep": 4, "mlp": 5, "dim": 6}))
    left, right = texts(8, seed=11), texts(8, seed=12)
    right = [[*a, *b] for a, b in zip(left, right, strict=True)]
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    reference = REFERENCES["match-pyramid"]
    expected = [reference(weights, model.settings, a, b, None) for a, b in zip(left, right, strict=True)]
    with torch.no_grad():
        scores = model(tokens(model, left, extra=2, junk=3), tokens(model, right, extra=3, junk=3))
    np.testing.assert_allclose(scores, expected, rtol=1e-9)
