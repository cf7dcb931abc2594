"""Deleting what an explanation ranks highest must hurt the score more than deleting at random."""

import numpy as np
import pytest

from pairlight import Matcher
from pairlight.errors import InputError
from pairlight.explain.faithful import deletion_curve, right_worth
from toy_pairs import overlap


@pytest.fixture(scope="module")
def trained() -> Matcher:
    small = {"interaction": "indicator", "maps": 4, "deep": 4, "mlp": 6}
    how = {"loss": "cross-entropy", "optimizer": "adam", "lr": 0.01, "batch": 4, "epochs": 2, "vectors": "none"}
    return Matcher("match-pyramid", **small).fit(overlap(60, seed=0), progress=False, **how)


@pytest.fixture(scope="module")
def right_pairs() -> list[tuple[str, str]]:
    pairs = overlap(30, seed=5)
    return [(pairs.texts[pairs.left[row]], pairs.texts[pairs.right[row]]) for row in np.flatnonzero(pairs.label)]


@pytest.mark.parametrize("by", ["leave-one-out", "integrated-gradients", "cells"])
def test_deleting_the_words_ranked_highest_hurts_more_than_random_ones(trained, right_pairs, by):
    found = deletion_curve(trained, right_pairs, by)
    assert found.pairs == len(right_pairs)
    assert found.area > 1.1 * deletion_curve(trained, right_pairs, "random").area


def test_the_falls_are_those_of_the_texts_without_the_words(trained):
    left, right = "bama delo firi kusi", "kusi bama mama godu rodu siri"
    worth = right_worth(trained.explain(left, right), "leave-one-out")
    keep = sorted(sorted(range(6), key=lambda place: -worth[place])[3:])
    shorter = " ".join(right.split()[place] for place in keep)
    fall = trained.predict([(left, right)])[0] - trained.predict([(left, shorter)])[0]
    np.testing.assert_allclose(deletion_curve(trained, [(left, right)]).falls[-1], fall, rtol=1e-4, atol=1e-5)


def test_what_a_model_can_not_tell_is_refused():
    bm25 = Matcher("bm25").fit(overlap(5, seed=0), progress=False)
    with pytest.raises(InputError, match="None of the 1 pairs can be explained by cells with bm25"):
        deletion_curve(bm25, [("bama", "bama")], "cells")
    with pytest.raises(InputError, match="by='magic' is none of"):
        deletion_curve(bm25, [("bama", "bama")], "magic")
