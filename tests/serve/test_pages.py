"""The pages without a browser: an index of shards, and documents that are longer than what a model reads."""

import asyncio

import pytest

from pairlight import Document, Index
from pairlight.search.manifest import Manifest, write_manifest
from pairlight.serve.backend import Backend
from pairlight.serve.messages import Request
from pairlight.serve.pages import page_routes
from pairlight.serve.served_model import MAX_CHARACTERS, ServedModel
from pairlight.serve.settings import ServerSettings
from pairlight.serve.work_queue import WorkQueue

FILLER = "and then nothing of note happened on that day in the village "
ANSWER = "the tracking page shows where your parcel is."
QUERY = "where is my parcel"


@pytest.fixture(scope="module")
def served():
    return ServedModel.load("qa-small")


def test_the_pages_of_an_index_of_shards_search_and_explain(tmp_path):
    parts = {"part-000000": Document("1", ANSWER), "part-000001": Document("2", "returns are free")}
    for name, document in parts.items():
        Index.create(tmp_path / name, [document], model=None).close()
    write_manifest(tmp_path, Manifest("hybrid", "en", "qa-small", complete=True, shards=tuple(parts)))
    backend, queue = Backend(ServerSettings(["qa-small"], tmp_path)), WorkQueue()
    backend.load()
    routes = page_routes(backend, queue)

    def page(path, **query):
        return asyncio.run(routes[path]["GET"].handler(Request(query=query))).content.decode()

    try:
        assert "2 documents" in page("/")
        assert "<mark>parcel</mark>" in page("/", q=[QUERY])
        assert "tracking" in page("/explanation", q=[QUERY], id=["1", "2"])
    finally:
        queue.close()
        backend.close()
        backend.index.close()


def test_a_long_document_is_explained_by_the_passage_that_matches(served):
    long = Document("long", FILLER * 30 + ANSWER)
    assert "tracking page" not in served.explain(QUERY, [long.text]).right.text[:1000]
    passages = served.passages(QUERY, [Document("short", "we are open"), long])
    assert passages[0] == "we are open"
    assert "tracking page" in passages[1]
    assert len(passages[1]) < 1000


def test_an_explanation_reads_only_the_beginning_of_a_very_long_text(served):
    text = ANSWER + " " + FILLER * 10_000
    found = served.explain(QUERY, [text])
    assert len(found.right.text) == served.max_characters == MAX_CHARACTERS
    assert "Only the first 10,000 characters of a text are looked at." in found.notes
    assert found.score == pytest.approx(float(served.score([QUERY], [text]).scores[0]), abs=1e-5)
    assert served.relevant_spans(QUERY, text)
