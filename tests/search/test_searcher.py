"""Reranking: the blend of both stages, thresholds, and pages of results."""

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.inference.windows import words_read
from pairlight.search.documents import Document
from pairlight.search.first_stage import Candidate, FunctionStage
from pairlight.search.searcher import Searcher, blended, normalised

TEXTS = ["we are open", "returns are free", "the tracking page shows where your parcel is", "pay by card"]


@pytest.fixture
def stage():
    found = [Candidate(Document(str(i), text, {"n": i}), 4.0 - i) for i, text in enumerate(TEXTS)]
    return FunctionStage(lambda query, k: found[:k])


def test_scores_are_normalised_over_the_candidates_and_blended_by_the_weight():
    assert normalised([3, 1, 2]).tolist() == [1, 0, 0.5]
    assert normalised([2, 2]).tolist() == [1, 1]
    assert normalised([]).tolist() == []
    assert blended([3, 1, 2], [0, 10, 5], 0.25).tolist() == pytest.approx([0.75, 0.25, 0.5])
    assert blended([3, 1], None, 0.25).tolist() == [3, 1]


def test_a_model_reranks_the_candidates(stage, matcher):
    results = Searcher(stage, matcher.scorer, weight=1.0).search("where is my parcel", top=2)
    assert results[0].id == "2"
    assert len(results) == 2
    assert results.candidates == 4
    expected = matcher.predict([("where is my parcel", hit.text) for hit in results])
    assert [hit.model_score for hit in results] == pytest.approx(expected, abs=1e-5)
    assert results[0].first_score == 2.0
    assert results[0].passage.text == results[0].text
    assert results.seconds.total == results.seconds.first_stage + results.seconds.rerank > 0


def test_texts_that_the_model_does_not_read_to_the_end_are_reported(matcher):
    texts = ["parcel " * 5000, "parcel " * 500, "a parcel"]
    stage = FunctionStage(lambda query, k: [Candidate(Document(str(i), text), 1.0) for i, text in enumerate(texts)])
    searcher, words = Searcher(stage, matcher.scorer), matcher.scorer.max_length
    short, long = (searcher.search(query, top=3) for query in ("where is my parcel", "parcel " * 1000))
    assert short.truncated == 1
    assert short.warnings[0].startswith(f"1 of 3 hits have more than {words_read(matcher.scorer)} words")
    assert short.as_dict()["meta"]["warnings"] == short.warnings
    assert long.truncated == 2
    assert long.warnings[0] == f"The query has more than {words} words and was truncated for the model."
    assert Searcher(stage).search("parcel " * 1000).warnings == []


def test_the_weight_decides_between_the_stages(stage, matcher):
    orders = {
        weight: [hit.id for hit in Searcher(stage, matcher.scorer, weight=weight).search("where is my parcel")]
        for weight in (0.0, 1.0)
    }
    assert orders[0.0] == ["0", "1", "2", "3"]
    model = matcher.predict([("where is my parcel", text) for text in TEXTS])
    assert orders[1.0] == [str(i) for i in np.argsort(-model)]


def test_without_a_model_the_first_stage_decides(stage):
    results = Searcher(stage).search("anything")
    assert [hit.score for hit in results] == [4, 3, 2, 1]
    assert results[0].model_score is None
    assert [hit.id for hit in Searcher(stage, threshold=2.5).search("anything")] == ["0", "1"]


def test_hits_below_the_threshold_are_left_out(stage, matcher):
    searcher = Searcher(stage, matcher.scorer, threshold=1.0)
    assert [hit.id for hit in searcher.search("where is my parcel")] == ["2"]
    assert len(searcher.search("where is my parcel", threshold=float("inf"))) == 0
    assert len(searcher.search("where is my parcel", threshold=float("-inf"))) == 4


def test_pages_of_results_follow_each_other(stage, matcher):
    searcher = Searcher(stage, matcher.scorer)
    whole = [hit.id for hit in searcher.search("where is my parcel", top=4)]
    pages = [[hit.id for hit in searcher.search("where is my parcel", top=2, offset=at)] for at in (0, 2, 4)]
    assert pages == [whole[:2], whole[2:], []]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"query": " "}, "The query ' ' is empty"),
        ({"query": "x", "top": 0}, "top=0"),
        ({"query": "x", "offset": -1}, "offset=-1"),
        ({"query": "x", "top": 10, "offset": 95}, "Results 96 to 105 are wanted, and only 100 candidates are ranked"),
    ],
)
def test_bad_arguments_are_input_errors(stage, arguments, words):
    with pytest.raises(InputError, match=words):
        Searcher(stage).search(**arguments)


def test_a_weight_outside_zero_to_one_is_an_error(stage):
    with pytest.raises(InputError, match="from 0 to 1"):
        Searcher(stage, weight=1.5)


def test_no_candidates_are_no_hits(matcher):
    assert len(Searcher(FunctionStage(lambda query, k: []), matcher.scorer).search("x")) == 0
