"""What is special to the models that count similarities by their value."""

import math

import pytest
import torch

from models.toy import VOCAB, Case, ready, tokens
from pairlight.core.errors import InputError
from pairlight.models import build
from reference import REFERENCES

LEFT, RIGHT = [2, 3, VOCAB + 2, 4], [3, 5, VOCAB + 2, 6, 3]


def score(model, left, right) -> float:
    with torch.no_grad():
        return float(model(tokens(model, [left]), tokens(model, [right])))


def test_anmm_begins_by_counting_shared_words():
    model = build("anmm", VOCAB)
    model.init_weights(0.1)
    assert score(model, [2, 3], [4, 5]) == pytest.approx(0.5)
    assert score(model, [2, 3], [4, 3, 3]) == pytest.approx((0.5 + 1 / (1 + math.exp(-2))) / 2)


@pytest.mark.parametrize("settings", [{}, {"idf": False}, {"idf": False, "gate": "left"}])
def test_drmm_by_rarity_by_vectors_or_by_neither_equals_its_twin(settings):
    model = ready(Case("drmm", {"dim": 6, **settings}))
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    assert score(model, LEFT, RIGHT) == pytest.approx(
        REFERENCES["drmm"](weights, model.settings, LEFT, RIGHT, None), rel=1e-9
    )


def test_drmm_gives_the_rarer_word_the_larger_say():
    model = ready(Case("drmm", {"dim": 6}))
    with torch.no_grad():
        model.idf[2], model.idf[3], model.rare[0] = 5.0, 1.0, 1.0
    alone = [score(model, [word], RIGHT) for word in (2, 3)]
    share = 1 / (1 + math.exp(-4))
    assert score(model, [2, 3], RIGHT) == pytest.approx(share * alone[0] + (1 - share) * alone[1])


def test_drmm_refuses_counts_it_does_not_know():
    with pytest.raises(InputError, match="counts='root' is none of count, share, log"):
        build("drmm", VOCAB, counts="root")


def test_knrm_of_one_word_with_itself_can_be_worked_out_by_hand():
    model = ready(Case("knrm", {"dim": 6, "kernels": 3}))  # centres 1, 0.5 and -0.5, widths 0.001, 0.5 and 0.5
    w, c = model.score[0].weight[0].tolist(), model.score[0].bias.item()
    phi = w[1] * 0.01 * -0.5 + w[2] * 0.01 * -4.5
    assert score(model, [7], [7]) == pytest.approx(math.tanh(phi + c))
