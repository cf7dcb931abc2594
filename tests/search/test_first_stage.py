"""Stages made of a function or of other stages."""

import pytest

from pairlight.core.errors import InputError
from pairlight.search.documents import Document
from pairlight.search.first_stage import Candidate, FunctionStage, FusedStage, fuse


def ranking(*names: str) -> list[Candidate]:
    return [Candidate(Document(name, name), 10.0 - rank) for rank, name in enumerate(names)]


def test_reciprocal_rank_fusion_adds_one_over_sixty_plus_rank():
    found = fuse([ranking("a", "b", "c"), ranking("c", "d")])
    assert [each.document.id for each in found] == ["c", "a", "b", "d"]
    assert [each.score for each in found] == pytest.approx([1 / 63 + 1 / 61, 1 / 61, 1 / 62, 1 / 62])


def test_a_fused_stage_returns_the_best_of_all_stages():
    stages = [FunctionStage(lambda query, k: ranking("a", "b")), FunctionStage(lambda query, k: ranking("b"))]
    found = FusedStage(stages).candidates("q", 2)
    assert [each.document.id for each in found] == ["b", "a"]


def test_a_function_is_a_first_stage_that_can_be_filtered_but_not_written():
    asked = []

    def function(query, k):
        asked.append((query, k))
        return [Candidate(Document("a", "x", {"lang": "en"}), 1.0), Candidate(Document("b", "y"), 0.5)]

    stage = FunctionStage(function)
    assert [each.document.id for each in stage.candidates("q", 5, {"lang": "en"})] == ["a"]
    assert [each.document.id for each in stage.candidates("q", 1)] == ["a"]
    assert asked == [("q", 5), ("q", 1)]
    for write in (lambda: stage.add([Document("c", "z")]), lambda: stage.delete(["a"])):
        with pytest.raises(InputError, match="is a function and cannot be written to"):
            write()
    stage.close()
