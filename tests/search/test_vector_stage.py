"""The vector stage finds texts by meaning, filters them, and forgets deleted ones."""

import pytest

from pairlight.search import vector_stage
from pairlight.search.documents import Document
from pairlight.search.tantivy_stage import TantivyStage
from pairlight.search.vector_stage import VectorStage


@pytest.fixture
def stage(tmp_path, documents):
    store = TantivyStage(tmp_path / "documents", "en")
    made = VectorStage(tmp_path / "vectors", store)
    store.add(documents)
    made.add(documents)
    yield made
    store.close()


def ids(found):
    return [each.document.id for each in found]


def test_a_text_is_found_that_shares_no_word_with_the_query(stage):
    assert ids(stage.candidates("parcel shipping", 1)) == ["tracking"]
    assert stage.documents.candidates("parcel shipping", 1) == []


def test_candidates_are_ordered_by_cosine(stage):
    found = stage.candidates("how can I pay", 10)
    assert len(found) == 4
    assert ids(found)[0] == "payment"
    values = [each.score for each in found]
    assert values == sorted(values, reverse=True)
    assert max(values) <= 1.001


@pytest.mark.parametrize("listed", [0, 5000])
def test_a_filter_keeps_the_best_that_pass(stage, monkeypatch, listed):
    monkeypatch.setattr(vector_stage, "MAX_LISTED", listed)  # filters that few pass, and that many pass
    stage.documents.add([Document("de", "Sendung verfolgen", {"lang": "de"})])
    stage.add([Document("de", "Sendung verfolgen", {"lang": "de"})])
    assert ids(stage.candidates("where is my parcel", 1, {"lang": "de"})) == ["de"]
    assert len(stage.candidates("where is my parcel", 10, {"lang": "en"})) == 4
    assert stage.candidates("where is my parcel", 3, {"lang": "fr"}) == []


def test_documents_that_are_gone_are_not_returned_even_if_their_vectors_are_there(stage):
    stage.documents.delete(["payment"])
    assert len(stage.candidates("how can I pay", 3)) == 3
    assert "payment" not in ids(stage.candidates("how can I pay", 3))


def test_an_empty_collection_has_no_candidates(tmp_path):
    store = TantivyStage(tmp_path / "d", "en")
    assert VectorStage(tmp_path / "v", store).candidates("x", 5) == []
