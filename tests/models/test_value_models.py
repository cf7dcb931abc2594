"""Properties of the models that count similarities by value: aNMM, DRMM and K-NRM."""

import math

import pytest
import torch

from models.toy import VOCAB, Case, ready, tokens
from pairlight import Matcher
from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.models import build
from pairlight.text.tokenizer import UNKNOWN
from reference import REFERENCES

LEFT, RIGHT = [2, 3, VOCAB + 2, 4], [3, 5, VOCAB + 2, 6, 3]


def score(model, left, right) -> float:
    with torch.no_grad():
        return float(model(tokens(model, [left]), tokens(model, [right])))


def test_untrained_anmm_counts_shared_words():
    model = build("anmm", VOCAB)
    model.init_weights(0.1)
    assert score(model, [2, 3], [4, 5]) == pytest.approx(0.5)
    assert score(model, [2, 3], [4, 3, 3]) == pytest.approx((0.5 + 1 / (1 + math.exp(-2))) / 2)


def test_words_without_a_vector_have_a_zero_vector_in_the_attention_of_anmm(tmp_path):
    file = tmp_path / "some.vec"
    file.write_text("red 1 0\ncar 0 1\n")
    pairs = Pairs.of(["red car", "red car"], ["car strange", "red"], [1, 0])
    options = {"vectors": str(file), "freeze": True, "epochs": 0, "progress": False}
    matcher = Matcher("anmm", evidence=False).fit(pairs, pairs, **options)
    model = matcher.scorer.model
    vectors = dict(zip(matcher.scorer.tokenizer.vocabulary, model.word_vectors.tolist(), strict=True))
    assert vectors["strange"] == [0, 0]  # in the training texts, but without a vector
    assert vectors["red"] == [1, 0]
    assert model.word_vectors[UNKNOWN].tolist() == [0, 0]  # the row of words that are not in the training texts


@pytest.mark.parametrize("settings", [{}, {"idf": False}, {"idf": False, "gate": "left"}])
def test_drmm_equals_its_reference_with_idf_with_attention_and_without_weights(settings):
    model = ready(Case("drmm", {"dim": 6, **settings}))
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    assert score(model, LEFT, RIGHT) == pytest.approx(
        REFERENCES["drmm"](weights, model.settings, LEFT, RIGHT, None), rel=1e-9
    )


def test_drmm_gives_the_rarer_word_the_larger_weight():
    model = ready(Case("drmm", {"dim": 6}))
    with torch.no_grad():
        model.idf_gate.idf[2], model.idf_gate.idf[3], model.idf_gate.weight[0] = 5.0, 1.0, 1.0
    alone = [score(model, [word], RIGHT) for word in (2, 3)]
    weight = 1 / (1 + math.exp(-4))
    assert score(model, [2, 3], RIGHT) == pytest.approx(weight * alone[0] + (1 - weight) * alone[1])


def test_drmm_rejects_unknown_counts():
    with pytest.raises(InputError, match="counts='root' is not one of count, share, log"):
        build("drmm", VOCAB, counts="root")


def test_knrm_of_one_word_with_itself_equals_the_hand_worked_score():
    model = ready(Case("knrm", {"dim": 6, "kernels": 3}))  # centers 1, 0.5 and -0.5, widths 0.001, 0.5 and 0.5
    w, c = model.score[0].weight[0].tolist(), model.score[0].bias.item()
    phi = w[1] * 0.01 * -0.5 + w[2] * 0.01 * -4.5
    assert score(model, [7], [7]) == pytest.approx(math.tanh(phi + c))
