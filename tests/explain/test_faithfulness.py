"""Deleting the words that an explanation ranks highest lowers the score more than deleting random words."""

import re

import numpy as np
import pytest

from explain.explained import matcher
from models.toy import CASES
from pairlight import Matcher
from pairlight.core.errors import InputError
from pairlight.explain.explain import explain_pair
from pairlight.explain.faithfulness import deletion_curves, right_word_values
from pairlight.inference.scorer import ModelScorer
from pairlight.training.loop import fit
from pairlight.training.trainer import prepare_training
from toy_pairs import overlap


@pytest.fixture(scope="module")
def trained() -> ModelScorer:
    """The model after its last epoch: epoch 0 ranks the toy task as well, so dev would select it."""
    small = {"interaction": "indicator", "maps": 4, "deep": 4, "mlp": 6}
    options = {"loss": "bce", "optimizer": "adam", "lr": 0.01, "batch": 4, "epochs": 2, "vectors": "none"}
    ready = prepare_training("match-pyramid", overlap(60, seed=0), settings=small, options=options)
    fit(ready.model, ready.texts, ready.pairs, ready.config)
    return ready.scorer


@pytest.fixture(scope="module")
def bm25() -> Matcher:
    return Matcher("bm25").fit(overlap(5, seed=0), progress=False)


@pytest.fixture(scope="module")
def positive_pairs() -> list[tuple[str, str]]:
    pairs = overlap(30, seed=5)
    return [(pairs.texts[pairs.left[row]], pairs.texts[pairs.right[row]]) for row in np.flatnonzero(pairs.label)]


def test_deleting_the_highest_ranked_words_lowers_the_score_more_than_random_ones(trained, positive_pairs):
    found = deletion_curves(trained, positive_pairs)
    assert set(found) == {"leave-one-out", "integrated-gradients", "mechanism"}
    for each in found.values():
        assert each.pairs == len(positive_pairs)
        assert each.area > 1.1 * each.random_area
        assert each.better_than_random


def test_the_drops_are_those_of_the_texts_without_the_words(trained):
    left, right = "bama delo firi kusi", "kusi bama mama godu rodu siri"
    values = right_word_values(explain_pair(trained, left, right), "leave-one-out")
    kept = sorted(sorted(range(6), key=lambda j: -values[j])[3:])
    shorter = " ".join(right.split()[j] for j in kept)
    whole, without = trained.score([left, left], [right, shorter])
    drop = whole - without
    found = deletion_curves(trained, [("bama", "bama"), (left, right)])["leave-one-out"]
    alone = deletion_curves(trained, [(left, right)])["leave-one-out"]
    np.testing.assert_allclose(alone.drops[-1], drop, rtol=1e-4, atol=1e-5)
    assert found.pairs == 2


def test_a_model_without_a_grid_ranks_words_by_its_tables(bm25, positive_pairs):
    left, right = "bama delo", "siri bama kusi delo"
    values = right_word_values(bm25.explain(left, right), "mechanism")
    assert [value > 0 for value in values] == [False, True, False, True]
    found = deletion_curves(bm25.scorer, positive_pairs)
    assert set(found) == {"leave-one-out", "mechanism"}
    assert found["mechanism"].better_than_random


def test_an_explanation_without_a_ranking_is_as_good_as_random_words(bm25):
    found = deletion_curves(bm25.scorer, [("bama delo", "siri kusi bama firi bama"), ("bama", "siri kusi")])
    assert found["mechanism"].pairs == 1
    assert found["leave-one-out"].pairs == 2
    equal = deletion_curves(bm25.scorer, [("bama", "bama bama bama bama")])["leave-one-out"]
    assert equal.drops == equal.random_drops
    assert not equal.better_than_random


def test_an_empty_list_of_pairs_is_refused(bm25):
    with pytest.raises(InputError, match="no pairs to delete words from"):
        deletion_curves(bm25.scorer, [])


def test_one_pair_is_no_evidence(bm25):
    found = deletion_curves(bm25.scorer, [("bama delo", "bama siri kusi delo")])
    assert not any(each.better_than_random for each in found.values())


def test_a_parse_tree_is_kept_without_the_deleted_words():
    made = matcher(next(case for case in CASES if case.name == "urae"))
    left, right = "((bama delo) firi)", "((kusi bama) ((delo firi) (mama godu)))"
    values = right_word_values(made.explain(left, right), "leave-one-out")
    words = ["kusi", "bama", "delo", "firi", "mama", "godu"]
    shorter = right
    for j in sorted(range(6), key=lambda j: -values[j])[:3]:
        shorter = shorter.replace(words[j], "")
    shorter = re.sub(r"\( *\)", "", shorter)
    found = deletion_curves(made.scorer, [(left, right)])["leave-one-out"]
    drop = made.predict([(left, right)])[0] - made.predict([(left, shorter)])[0]
    np.testing.assert_allclose(found.drops[-1], drop, rtol=1e-3, atol=1e-5)
