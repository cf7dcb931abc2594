"""The contract of all models: a score depends on its own pair and nothing else, and equals the reference."""

import numpy as np
import pytest
import torch

from models.toy import CASES, VOCAB, Case, ready, texts, tokens
from pairlight.core.errors import InputError
from pairlight.models import MODELS, build, model_class
from pairlight.models.base import PairModel
from pairlight.models.settings import model_settings
from reference import REFERENCES

every_case = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.fixture
def model(case: Case) -> PairModel:
    return ready(case)


def scores(model: PairModel, left, right, **padding) -> np.ndarray:
    with torch.no_grad():
        return model(tokens(model, left, **padding), tokens(model, right, **padding)).numpy()


def assert_equal(a, b) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


LEFT, RIGHT = texts(8, seed=11), texts(8, seed=12)


def test_every_model_has_a_reference_and_a_case():
    assert {case.name for case in CASES} == set(MODELS) == set(REFERENCES)


@every_case
def test_different_pairs_have_different_scores(model):
    assert len(np.unique(scores(model, LEFT, [left + right for left, right in zip(LEFT, RIGHT, strict=True)]))) > 2


@every_case
def test_extra_padding_never_changes_a_score(model):
    assert_equal(scores(model, LEFT, RIGHT, extra=7), scores(model, LEFT, RIGHT))


@every_case
def test_a_pair_alone_equals_the_pair_in_a_batch(model):
    alone = [scores(model, [left], [right])[0] for left, right in zip(LEFT, RIGHT, strict=True)]
    assert_equal(scores(model, LEFT, RIGHT), alone)


@every_case
def test_batch_order_is_kept(model):
    assert_equal(scores(model, LEFT[::-1], RIGHT[::-1]), scores(model, LEFT, RIGHT)[::-1])


@every_case
@pytest.mark.parametrize("junk", [3, 10**6])
def test_junk_ids_under_padding_are_ignored(model, junk):
    junk = junk if model.inputs.input_kind == "words" else 3
    assert_equal(scores(model, LEFT, RIGHT, extra=3, junk=junk), scores(model, LEFT, RIGHT))


@every_case
def test_one_left_text_may_be_paired_with_several_right_texts(model):
    twice = [*RIGHT, *RIGHT[::-1]]
    assert_equal(scores(model, LEFT, twice), scores(model, [*LEFT, *LEFT], twice))
    assert_equal(scores(model, LEFT[:1], RIGHT), scores(model, LEFT[:1] * len(RIGHT), RIGHT))


@every_case
def test_one_word_texts_and_long_texts_have_finite_scores(model):
    long = texts(2, seed=13, longest=120, shortest=100)
    assert np.isfinite(scores(model, [[2], [3], [2], *long], [[2], [VOCAB + 1], *long, [4]])).all()


@every_case
def test_every_parameter_receives_a_gradient(model):
    parameters = dict(model.named_parameters())
    if not parameters:
        pytest.skip("this model has no parameters")
    left, right = texts(64, seed=14, longest=14), texts(64, seed=15, longest=14)
    weight = torch.randn(64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    (model(tokens(model, left), tokens(model, right)) * weight).sum().backward()
    without = [name for name, p in parameters.items() if p.grad is None or not p.grad.to_dense().abs().sum() > 0]
    assert not without


@every_case
def test_the_model_equals_its_reference(case, model):
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    table = tokens(model, [[2]]).ngrams
    expected = [
        REFERENCES[case.name](weights, model.settings, left, right, None if table is None else table.numpy())
        for left, right in zip(LEFT, RIGHT, strict=True)
    ]
    assert_equal(scores(model, LEFT, RIGHT), expected)


@pytest.mark.parametrize("name", MODELS)
def test_every_setting_is_described(name):
    assert all(setting.meaning for setting in model_settings(model_class(name)).values())


@pytest.mark.parametrize("name", MODELS)
def test_every_model_names_its_paper_and_family(name):
    assert model_class(name).paper
    assert model_class(name).family in ("composition", "interaction", "lexical")


def test_an_unknown_model_suggests_the_closest_name():
    with pytest.raises(InputError, match=r"No model named 'mvlstm'. Did you mean 'mv-lstm'\?"):
        build("mvlstm", VOCAB)
