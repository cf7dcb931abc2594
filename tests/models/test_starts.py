"""Where weights start: interactions near the identity, a residual encoder as the vectors, unit states as cosine."""

import numpy as np
import pytest
import torch

from models.toy import VOCAB, texts, tokens
from pairlight.layers.interactions import Bilinear, TensorLayer
from pairlight.models import build

SCALE = 0.1


@pytest.mark.parametrize("name", ["mv-lstm", "match-pyramid"])
@pytest.mark.parametrize(("interaction", "kind"), [("bilinear", Bilinear), ("tensor", TensorLayer)])
def test_matrices_that_compare_words_start_near_the_identity(name, interaction, kind):
    torch.manual_seed(0)
    model = build(name, VOCAB, interaction=interaction, dim=6)
    model.init_weights(SCALE)
    (layer,) = (each for each in model.all_layers() if isinstance(each, kind))
    noise = layer.weight.detach() - torch.eye(layer.weight.shape[-1])
    assert 0.9 * SCALE < float(noise.abs().max()) <= SCALE + 1e-6
    assert abs(float(noise.diagonal(dim1=-2, dim2=-1).mean())) < SCALE
    assert not layer.bias.any()
    if kind is TensorLayer:
        assert 0 < float(layer.linear.detach().abs().max()) <= SCALE


def test_matrices_start_near_the_identity_with_evidence_too():
    model = build("mv-lstm", VOCAB, interaction="tensor", dim=6, evidence=True)
    model.init_weights(SCALE)
    weight = model.own.interact.weight.detach()
    torch.testing.assert_close(weight, torch.eye(weight.shape[-1]).expand_as(weight), rtol=0, atol=SCALE + 1e-6)


@pytest.mark.parametrize("name", ["mv-lstm", "amv-lstm"])
def test_a_residual_encoder_starts_as_the_word_vectors(name):
    torch.manual_seed(0)
    model = build(name, VOCAB, residual=True, hidden=5, dim=6, gate="none")
    model.init_weights(SCALE)
    assert model.encode.dim == 6
    assert not model.encode.project.weight.any()
    assert model.encode.forwards.weight.any()
    left = tokens(model, texts(4, seed=1))
    torch.testing.assert_close(model.encode_left(left).x, model.embed.left(left).x, rtol=0, atol=0)
    with torch.no_grad():
        model.encode.project.weight.normal_(0, 0.4)
    assert not torch.equal(model.encode_left(left).x, model.embed.left(left).x)
    assert not model.encode_left(left).x[~left.mask].any()


def test_bilinear_on_unit_states_starts_as_cosine_and_without_them_near_zero():
    left, right = texts(6, seed=1), texts(6, seed=2)

    def grid(**settings):
        model = build("mv-lstm", VOCAB, hidden=5, dim=6, **settings)
        torch.manual_seed(0)  # the weights of the interaction are drawn after those of the LSTM
        model.init_weights(SCALE)
        u, v = model.encode_left(tokens(model, left)), model.encode_right(tokens(model, right))
        return model.interact(u, v).x.detach()

    cosine, near = grid(interaction="cosine"), grid(interaction="bilinear", unit_states=True)
    assert np.corrcoef(cosine.flatten(), near.flatten())[0, 1] > 0.9
    torch.testing.assert_close(near, cosine, rtol=0, atol=0.3)
    assert grid(interaction="bilinear").abs().max() < 0.1
