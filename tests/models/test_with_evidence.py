"""A model with evidence: its score is that of the evidence and of the model itself, and depends on its pair alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from models.toy import CASES, VOCAB, Case, corpus, ready, subwords_of, texts, tokens
from pairlight import Matcher
from pairlight.data.statistics import document_frequency
from pairlight.layers.evidence import FEATURES, SUBWORDS, subword_idf
from pairlight.models import MODELS, build, model_class
from pairlight.models.base import PAPER_TRAINING, DualEncoder, PairModel
from pairlight.models.with_evidence import DualWithEvidence, WithEvidence
from pairlight.training.config import TrainingConfig
from toy_pairs import overlap

NAMES = ("mv-lstm", "dssm", "match-srnn", "urae")
FIRST = {case.name: case for case in reversed(CASES)}
every_kind = pytest.mark.parametrize("name", NAMES)
LEFT, RIGHT = texts(8, seed=11), texts(8, seed=12)


def wrapped(name: str) -> PairModel:
    """A model with evidence and random weights, in float64 where its layers are."""
    return ready(Case(name, FIRST[name].settings | {"evidence": True}))


@pytest.fixture
def model(name: str) -> PairModel:
    return wrapped(name)


def scores(model: PairModel, left, right, **padding: int) -> np.ndarray:
    with torch.no_grad():
        return model(tokens(model, left, **padding), tokens(model, right, **padding)).numpy()


def assert_equal(a, b) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)  # the static vectors are in float32


@every_kind
def test_the_score_is_that_of_the_evidence_plus_ten_times_the_weight_times_that_of_the_model(name, model):
    left, right = tokens(model, LEFT), tokens(model, RIGHT)
    bare = build(name, VOCAB, **FIRST[name].settings).double().eval()
    bare.load_state_dict({key[4:]: array for key, array in model.state_dict().items() if key.startswith("own.")})
    with torch.no_grad():
        evidence, own = model.evidence(left.subwords, right.subwords), bare(left, right)
        assert float(model.weight) != 0
        assert float(own.std()) > 1e-4
        assert_equal(model(left, right), evidence + 10 * float(model.weight) * own)


@every_kind
def test_an_untrained_model_has_the_score_of_the_evidence_alone(name):
    model = build(name, VOCAB, **FIRST[name].settings, evidence=True)
    model.init_weights(0.3)
    model.eval()
    left, right = tokens(model, LEFT), tokens(model, RIGHT)
    with torch.no_grad():
        expected = model.evidence(left.subwords, right.subwords)
        assert float(expected.std()) > 0.1
        assert model.evidence.linear.weight[0].tolist() == list(FEATURES.values())
        np.testing.assert_array_equal(model.evidence.idf, subword_idf(np.zeros(SUBWORDS, np.int64), 0))
        assert torch.equal(model(left, right), expected)


@pytest.mark.parametrize(
    "settings", [{"gate": "both", "hidden": 5, "dim": 6}, {"gate": "right", "hidden": 5, "dim": 6}], ids=str
)
def test_encodings_of_both_texts_match_as_the_texts_do(settings):
    model = ready(Case("mv-lstm", settings | {"evidence": True}))
    left, right = tokens(model, LEFT), tokens(model, RIGHT)
    with torch.no_grad():
        assert_equal(model.match(model.encode_left(left), model.encode_right(right)), model(left, right))


@every_kind
def test_the_first_step_of_training_moves_the_weight_and_not_the_model(name):
    model = wrapped(name)
    with torch.no_grad():
        model.weight.zero_()
    weight = torch.randn(8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    (model(tokens(model, LEFT), tokens(model, RIGHT)) * weight).sum().backward()
    assert model.weight.grad is not None
    assert abs(float(model.weight.grad)) > 1e-4
    for parameter in model.own.parameters():
        assert parameter.grad is None or not parameter.grad.to_dense().any()


@every_kind
def test_different_pairs_have_different_scores(model):
    assert len(np.unique(scores(model, LEFT, RIGHT))) == len(LEFT)


@every_kind
@pytest.mark.parametrize("junk", [0, 3, 10**6])
def test_padding_never_changes_a_score(model, junk):
    junk = junk if model.inputs.input_kind == "words" else min(junk, 3)
    assert_equal(scores(model, LEFT, RIGHT, extra=7, junk=junk), scores(model, LEFT, RIGHT))


@every_kind
def test_a_pair_alone_equals_the_pair_in_a_batch(model):
    alone = [scores(model, [left], [right])[0] for left, right in zip(LEFT, RIGHT, strict=True)]
    assert_equal(scores(model, LEFT, RIGHT), alone)


@every_kind
def test_batch_order_is_kept(model):
    assert_equal(scores(model, LEFT[::-1], RIGHT[::-1]), scores(model, LEFT, RIGHT)[::-1])


@every_kind
def test_one_left_text_may_be_paired_with_several_right_texts(model):
    twice = [*RIGHT, *RIGHT[::-1]]
    assert_equal(scores(model, LEFT, twice), scores(model, [*LEFT, *LEFT], twice))
    assert_equal(scores(model, LEFT[:1], RIGHT), scores(model, LEFT[:1] * len(RIGHT), RIGHT))


@every_kind
def test_one_word_texts_and_long_texts_have_finite_scores(model):
    long = texts(2, seed=13, longest=120, shortest=100)
    assert np.isfinite(scores(model, [[2], [3], [2], *long], [[2], [VOCAB + 1], *long, [4]])).all()


@every_kind
def test_every_parameter_receives_a_gradient(model):
    left, right = texts(64, seed=14, longest=14), texts(64, seed=15, longest=14)
    weight = torch.randn(64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    (model(tokens(model, left), tokens(model, right)) * weight).sum().backward()
    parameters = dict(model.named_parameters())
    assert {"weight", "evidence.linear.weight", "evidence.linear.bias"} < set(parameters)
    without = [name for name, p in parameters.items() if p.grad is None or not p.grad.to_dense().abs().sum() > 0]
    assert not without


@every_kind
def test_texts_without_subwords_are_refused(model):
    left, right = tokens(model, LEFT), tokens(model, RIGHT)
    with pytest.raises(TypeError, match="reads texts as subwords too"):
        model(replace(left, subwords=None), right)
    with pytest.raises(TypeError, match="reads texts as subwords too"):
        model(left, replace(right, subwords=None))


@every_kind
def test_statistics_are_those_of_the_texts_in_pairs(model):
    tokenized, pairs = corpus(model)
    model.fit_statistics(tokenized, pairs.take(np.arange(20)))  # the first 20 left texts with the first 20 right ones
    used = np.arange(40)
    frequency = document_frequency(tokenized.subwords, used, SUBWORDS)[:-1]
    np.testing.assert_allclose(model.evidence.idf, subword_idf(frequency, 40), rtol=1e-6)
    mean = tokenized.subwords.lengths[20:40].mean()
    np.testing.assert_allclose(float(model.evidence.features.average_length), mean, rtol=1e-6)
    assert mean != tokenized.lengths[20:40].mean()
    with pytest.raises(TypeError, match="tokenized as subwords too"):
        model.fit_statistics(replace(tokenized, subwords=None), pairs)


def test_made_up_subwords_are_not_the_words_themselves():
    assert subwords_of([3, 4]) == [121, 122, 128]


# What is built


@pytest.mark.parametrize("name", [name for name in MODELS if model_class(name).takes_evidence])
def test_a_model_with_evidence_keeps_what_the_model_declares(name):
    model, own = (build(name, VOCAB, **FIRST[name].settings, evidence=evidence) for evidence in (True, False))
    assert isinstance(model, WithEvidence)
    assert isinstance(model, DualEncoder) == isinstance(model, DualWithEvidence) == isinstance(own, DualEncoder)
    assert type(model.without_evidence) is type(own) is model_class(name)
    assert own.without_evidence is own
    assert model.settings == own.settings | {"evidence": True}
    assert own.settings["evidence"] is False
    assert (model.inputs, model.paper, model.family) == (own.inputs, own.paper, own.family)
    assert model.statistics_are_weights == own.statistics_are_weights
    assert (model.word_vectors is None) == (own.word_vectors is None)
    assert (model.reads_subwords, own.reads_subwords) == (True, False)
    assert not model.bounded_score
    assert model.linear_layer() is model.evidence.linear
    assert own.linear_layer() is None


def test_a_built_model_is_bare_unless_it_is_asked_for_evidence():
    assert not isinstance(build("mv-lstm", VOCAB), WithEvidence)
    assert isinstance(Matcher("mv-lstm").scorer.model, WithEvidence)


@pytest.mark.parametrize("name", ["random", "bm25", "late-interaction"])
def test_models_that_take_no_evidence_have_no_such_setting(name):
    with pytest.raises(Exception, match="evidence"):
        Matcher(name, evidence=True)


def test_training_defaults_depend_on_evidence():
    default, paper = (Matcher("mv-lstm", evidence=evidence).config for evidence in (True, False))
    assert default == Matcher("mv-lstm").config == TrainingConfig()
    assert (default.optimizer, default.lr, default.vectors, default.freeze) == ("adam", 0.001, "auto", True)
    assert paper == TrainingConfig.of(PAPER_TRAINING, {})
    assert (paper.loss, paper.optimizer, paper.lr, paper.vectors, paper.freeze) == (
        *("hinge", "adagrad", 0.03, "skip-gram", False),
    )
    knrm = Matcher("knrm", evidence=False).config
    assert knrm == TrainingConfig.of({**PAPER_TRAINING, **model_class("knrm").paper_training}, {})
    assert knrm.optimizer == "adam"


# Through a matcher


@every_kind
def test_a_saved_model_with_random_weights_scores_exactly_as_before(name, tmp_path):
    pairs = overlap(12, seed=0)
    matcher = Matcher(name, **FIRST[name].settings).fit(pairs, pairs, epochs=0, vectors="none", progress=False)
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in matcher.scorer.model.parameters():
            parameter.normal_(0, 0.4)
    before = matcher.predict(pairs)
    matcher.save(tmp_path)
    loaded = Matcher.load(tmp_path)
    assert loaded.settings["evidence"] is True
    np.testing.assert_array_equal(loaded.predict(pairs), before)
    assert len(np.unique(before)) > 20


def test_a_model_in_the_form_of_its_paper_is_loaded_in_that_form(tmp_path):
    pairs = overlap(6, seed=0)
    Matcher("dssm", **FIRST["dssm"].settings, evidence=False).fit(pairs, pairs, epochs=1, progress=False).save(tmp_path)
    loaded = Matcher.load(tmp_path)
    assert loaded.settings["evidence"] is False
    assert not isinstance(loaded.scorer.model, WithEvidence)
    assert loaded.scorer.token_ids(["bama"]).subwords is None
