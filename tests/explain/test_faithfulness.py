"""Deleting what an explanation ranks highest must hurt the score more than deleting at random."""

import re

import numpy as np
import pytest

from explain.explained import matcher
from models.toy import CASES
from pairlight import Matcher
from pairlight.core.errors import InputError
from pairlight.explain.faithfulness import deletion_curves, right_worth
from toy_pairs import overlap


@pytest.fixture(scope="module")
def trained() -> Matcher:
    small = {"interaction": "indicator", "maps": 4, "deep": 4, "mlp": 6}
    how = {"loss": "bce", "optimizer": "adam", "lr": 0.01, "batch": 4, "epochs": 2, "vectors": "none"}
    return Matcher("match-pyramid", **small).fit(overlap(60, seed=0), progress=False, **how)


@pytest.fixture(scope="module")
def bm25() -> Matcher:
    return Matcher("bm25").fit(overlap(5, seed=0), progress=False)


@pytest.fixture(scope="module")
def positive_pairs() -> list[tuple[str, str]]:
    pairs = overlap(30, seed=5)
    return [(pairs.texts[pairs.left[row]], pairs.texts[pairs.right[row]]) for row in np.flatnonzero(pairs.label)]


def test_deleting_the_words_ranked_highest_hurts_more_than_random_ones(trained, positive_pairs):
    found = deletion_curves(trained, positive_pairs)
    assert set(found) == {"leave-one-out", "integrated-gradients", "mechanism"}
    for each in found.values():
        assert each.pairs == len(positive_pairs)
        assert each.area > 1.1 * each.random_area
        assert each.faithful


def test_the_falls_are_those_of_the_texts_without_the_words(trained):
    left, right = "bama delo firi kusi", "kusi bama mama godu rodu siri"
    worth = right_worth(trained.explain(left, right), "leave-one-out")
    keep = sorted(sorted(range(6), key=lambda place: -worth[place])[3:])
    shorter = " ".join(right.split()[place] for place in keep)
    fall = trained.predict([(left, right)])[0] - trained.predict([(left, shorter)])[0]
    found = deletion_curves(trained, [("bama", "bama"), (left, right)])["leave-one-out"]
    alone = deletion_curves(trained, [(left, right)])["leave-one-out"]
    np.testing.assert_allclose(alone.falls[-1], fall, rtol=1e-4, atol=1e-5)
    assert found.pairs == 2


def test_a_model_without_a_grid_ranks_words_by_its_tables(bm25, positive_pairs):
    left, right = "bama delo", "siri bama kusi delo"
    assert [worth > 0 for worth in right_worth(bm25.explain(left, right), "mechanism")] == [False, True, False, True]
    found = deletion_curves(bm25, positive_pairs)
    assert set(found) == {"leave-one-out", "mechanism"}
    assert found["mechanism"].faithful


def test_an_explanation_that_names_no_word_does_as_random_words_do(bm25):
    found = deletion_curves(bm25, [("bama delo", "siri kusi bama firi bama"), ("bama", "siri kusi")])
    assert found["mechanism"].pairs == 1
    assert found["leave-one-out"].pairs == 2
    equal = deletion_curves(Matcher("bm25").fit(overlap(5, seed=0), progress=False), [("bama", "bama bama bama bama")])
    assert equal["leave-one-out"].falls == equal["leave-one-out"].random
    assert not equal["leave-one-out"].faithful


def test_no_pairs_are_refused(bm25):
    with pytest.raises(InputError, match="no pairs to delete words of"):
        deletion_curves(bm25, [])


def test_one_pair_proves_nothing(bm25):
    (one,) = {each.faithful for each in deletion_curves(bm25, [("bama delo", "bama siri kusi delo")]).values()}
    assert not one


def test_a_parse_goes_on_without_the_deleted_words():
    made = matcher(next(case for case in CASES if case.name == "urae"))
    left, right = "((bama delo) firi)", "((kusi bama) ((delo firi) (mama godu)))"
    worth = right_worth(made.explain(left, right), "leave-one-out")
    gone = set(sorted(range(6), key=lambda place: -worth[place])[:3])
    words = ["kusi", "bama", "delo", "firi", "mama", "godu"]
    shorter = right
    for place in gone:
        shorter = shorter.replace(words[place], "")
    shorter = re.sub(r"\( *\)", "", shorter)
    found = deletion_curves(made, [(left, right)])["leave-one-out"]
    fall = made.predict([(left, right)])[0] - made.predict([(left, shorter)])[0]
    np.testing.assert_allclose(found.falls[-1], fall, rtol=1e-3, atol=1e-5)
