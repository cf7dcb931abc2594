"""A text that is longer than what a model reads is ranked by its best passage."""

import warnings

import numpy as np
import pytest

from models.toy import CASES
from pairlight import Matcher
from pairlight.inference.windows import passages_of, windows_of
from toy_pairs import overlap

QUICK = {"epochs": 1, "vectors": "none", "init": None, "baseline": False, "progress": False, "max_length": 8}
QUERY = "bama delo"
SHORT = ["bama delo firi", "godu", "kusi nemo bama"]
LONG = ["godu kusi " * 10 + "bama delo", "firi " * 9, "bama delo " + "nemo " * 40]
SETTINGS = {"mv-lstm": {}, "bm25": {}, "arc-i": {"length": 7, "evidence": False, "maps": 4, "mlp": 4}}


@pytest.fixture(scope="module", params=[*SETTINGS, "late-interaction"])
def matcher(request):
    if request.param == "late-interaction":
        return Matcher.load("qa-small")
    settings = SETTINGS[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Matcher(request.param, **settings).fit(overlap(6, seed=0), overlap(6, seed=1), **QUICK)


def scores_of(matcher, texts):
    ranked = matcher.rank(QUERY, texts)
    return [each["score"] for each in sorted(ranked, key=lambda each: each["corpus_id"])]


def test_short_texts_have_the_scores_of_predict(matcher):
    assert scores_of(matcher, SHORT) == pytest.approx(matcher.predict([(QUERY, text) for text in SHORT]), abs=1e-5)


@pytest.mark.filterwarnings("error")
def test_a_long_text_has_the_score_of_its_best_passage(matcher):
    texts = [*SHORT, *(text * 4 for text in LONG)]
    found = scores_of(matcher, texts)
    for text, score in zip(texts, found, strict=True):
        windows = windows_of(matcher.scorer.tokenizer.tokenize([text], 1000).lengths, matcher.scorer.right_length)
        passages = [each.text for each in passages_of(matcher.scorer, [text], windows)]
        # A window of subwords, alone, can have other ones at its ends.
        tolerance = 0.1 if len(passages) > 1 and matcher.name == "late-interaction" else 1e-5
        assert score == pytest.approx(matcher.predict([(QUERY, each) for each in passages]).max(), abs=tolerance)
        assert text.startswith(passages[0].strip())
        assert text.strip().endswith(passages[-1].strip())


def test_a_match_at_the_end_of_a_long_text_is_found():
    matcher = Matcher.load("qa-small")
    filler = "and then nothing of note happened on that day in the village " * 20
    texts = [filler, filler + "the tracking page shows where your parcel is", "we are open"]
    assert matcher.rank("where is my parcel", texts)[0]["corpus_id"] == 1


def test_a_query_that_is_not_read_to_the_end_is_reported():
    matcher = Matcher.load("qa-small")
    with pytest.warns(UserWarning, match="query has more than 64 words"):
        matcher.rank("parcel " * 100, ["parcel"])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", {case.name: case for case in reversed(CASES)}.values(), ids=str)
def test_every_model_ranks_odd_texts_of_any_length(case):
    options = {name: value for name, value in QUICK.items() if case.name != "late-interaction" or name != "vectors"}
    matcher = Matcher(case.name, **case.settings)
    matcher.fit(overlap(6, seed=0), overlap(6, seed=1), **options | {"epochs": 0})
    texts = [LONG[0] * 10, "a " * 3000, "你好" * 500, "👍" * 300, "(((bama delo) (firi godu)) (kusi bama))" * 30, "x"]
    assert np.isfinite(scores_of(matcher, texts)).all()
