"""Late interaction on words: vectors of the training option, words never seen, and the same folder as other models."""

import numpy as np
import pytest

from pairlight import InputError, Matcher
from toy_pairs import overlap

HELD = overlap(6, seed=3)
QUICK = {"progress": False, "epochs": 1, "baseline": False}
QUESTION = "parcel tracking"
ANSWERS = ["pay by credit card", "the package was delivered", "returns are free"]


@pytest.fixture(scope="module")
def trained(pairs):
    return Matcher("late-interaction", units="words").fit(pairs, HELD, **QUICK)


def test_an_untrained_model_on_words_ranks_by_their_vectors():
    matcher = Matcher("late-interaction", units="words")
    assert "reads words" in repr(matcher)
    assert matcher.rank(QUESTION, ANSWERS)[0]["corpus_id"] == 1


def test_word_vectors_are_the_sums_of_subword_vectors_and_stay_fixed(trained):
    assert trained.config.vectors == "wordllama"
    assert trained.config.freeze
    assert trained.scorer.model.settings["dim"] == 256
    assert not trained.scorer.model.word_vectors.requires_grad


def test_words_that_training_never_saw_have_vectors(trained):
    scores = trained.predict([("a parcel", "a package"), ("a parcel", "a volcano")])
    assert scores[0] > scores[1]


def test_a_saved_model_on_words_has_the_same_scores(trained, tmp_path):
    trained.save(tmp_path)
    np.testing.assert_array_equal(Matcher.load(tmp_path).predict(HELD), trained.predict(HELD))


def test_training_continues_from_a_model_on_words(trained, tmp_path):
    trained.save(tmp_path)
    matcher = Matcher("late-interaction").fit(HELD, HELD, init=tmp_path, **QUICK | {"epochs": 0})
    assert matcher.scorer.model.settings["units"] == "words"
    assert matcher.scorer.model.embed.project.equal(trained.scorer.model.embed.project)


def test_word_vectors_that_are_trained_learn_at_a_tenth_of_the_rate(pairs):
    settings = {"units": "words", "dim": 8}
    matcher = Matcher("late-interaction", **settings).fit(pairs, HELD, vectors="none", freeze=False, **QUICK)
    model = matcher.scorer.model
    assert [each is model.word_vectors for each in model.slow_parameters()] == [True]


def test_the_size_of_subword_vectors_is_fixed():
    with pytest.raises(InputError, match="dim=50, but the vectors of subwords have 256 dimensions"):
        Matcher("late-interaction", dim=50).fit(HELD, HELD, **QUICK)
