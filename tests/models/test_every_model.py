"""What every model must keep, out of one table: no score depends on anything but its own pair."""

import numpy as np
import pytest
import torch

from models.toy import CASES, VOCAB, Case, ready, texts, tokens
from pairlight.models import MODELS
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


def close(a, b) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


LEFT, RIGHT = texts(8, seed=11), texts(8, seed=12)


def test_the_table_has_every_model_and_every_model_a_twin():
    assert {case.name for case in CASES} == set(MODELS) == set(REFERENCES)


@every_case
def test_scores_tell_pairs_apart(model):
    assert len(np.unique(scores(model, LEFT, [left + right for left, right in zip(LEFT, RIGHT, strict=True)]))) > 2


@every_case
def test_extra_padding_never_changes_a_score(model):
    close(scores(model, LEFT, RIGHT, extra=7), scores(model, LEFT, RIGHT))


@every_case
def test_a_pair_alone_equals_the_pair_in_a_batch(model):
    alone = [scores(model, [left], [right])[0] for left, right in zip(LEFT, RIGHT, strict=True)]
    close(scores(model, LEFT, RIGHT), alone)


@every_case
def test_batch_order_is_kept(model):
    close(scores(model, LEFT[::-1], RIGHT[::-1]), scores(model, LEFT, RIGHT)[::-1])


@every_case
@pytest.mark.parametrize("junk", [3, 10**6])
def test_junk_ids_under_padding_are_not_read(model, junk):
    junk = junk if model.inputs.input_kind == "words" else 3
    close(scores(model, LEFT, RIGHT, extra=3, junk=junk), scores(model, LEFT, RIGHT))


@every_case
def test_one_left_text_may_face_several_right_ones(model):
    two = [*RIGHT, *RIGHT[::-1]]
    close(scores(model, LEFT, two), scores(model, [*LEFT, *LEFT], two))
    close(scores(model, LEFT[:1], RIGHT), scores(model, LEFT[:1] * len(RIGHT), RIGHT))


@every_case
def test_one_word_texts_and_long_texts_score_finitely(model):
    long = texts(2, seed=13, longest=120, shortest=100)
    assert np.isfinite(scores(model, [[2], [3], [2], *long], [[2], [VOCAB + 1], *long, [4]])).all()


@every_case
def test_every_parameter_gets_a_gradient(model):
    parameters = dict(model.named_parameters())
    if not parameters:
        pytest.skip("it has no parameters")
    left, right = texts(64, seed=14, longest=14), texts(64, seed=15, longest=14)
    weight = torch.randn(64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    (model(tokens(model, left), tokens(model, right)) * weight).sum().backward()
    still = [name for name, p in parameters.items() if p.grad is None or not p.grad.to_dense().abs().sum() > 0]
    assert not still


@every_case
def test_the_model_equals_its_slow_twin(case, model):
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    table = tokens(model, [[2]]).ngrams
    twin = [
        REFERENCES[case.name](weights, model.settings, left, right, None if table is None else table.numpy())
        for left, right in zip(LEFT, RIGHT, strict=True)
    ]
    close(scores(model, LEFT, RIGHT), twin)


@pytest.mark.parametrize("name", MODELS)
def test_every_setting_says_what_it_means(name):
    assert all(setting.meaning for setting in model_settings(MODELS[name]).values())


@pytest.mark.parametrize("name", MODELS)
def test_every_model_says_where_it_comes_from(name):
    assert MODELS[name].paper
    assert MODELS[name].family in ("composition", "interaction", "lexical")
