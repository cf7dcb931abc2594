"""An index stores what its model computes of a document alone, and reranks from that."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from pairlight import Document, Index, Matcher
from pairlight.core.errors import InputError
from pairlight.search import index as index_module
from pairlight.search import passages
from pairlight.search.document_encodings import stores_encodings, unpacked
from toy_pairs import overlap

QUERY = "bama delo"
TEXTS = ["bama delo firi", "godu kusi", "kusi bama " * 9, "firi godu " * 30 + "bama delo", "x"]
FP16 = 2e-3  # the rounding of vectors


def trained(name, folder, **settings):
    matcher = Matcher(name, **settings)
    matcher.fit(overlap(6, seed=0), vectors="none", epochs=1, max_length=8, init=None, progress=False)
    matcher.save(folder)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return trained("mv-lstm", tmp_path_factory.mktemp("models") / "mv")


@pytest.fixture
def documents():
    return [Document(f"d{i}", text, {"n": i}) for i, text in enumerate(TEXTS)]


@pytest.fixture
def index(model, documents, tmp_path):
    with Index.create(tmp_path / "index", documents, model=model) as made:
        yield made


@pytest.fixture
def without_texts(monkeypatch):
    """Reranking from texts fails."""

    def fail(*_):
        raise AssertionError("reranked from texts")

    return lambda: monkeypatch.setattr(passages, "score_windows", fail)


def by_id(results):
    return {hit.id: hit for hit in results}


def is_stored(index):
    return {each.id: each.encoding is not None for each in index.documents.all_documents()}


@pytest.mark.parametrize(
    ("name", "settings"),
    [("mv-lstm", {}), ("mv-lstm", {"evidence": False, "interaction": "cosine"}), ("arc-i", {}), ("dssm", {})],
)
def test_scores_and_passages_from_encodings_are_those_from_texts(documents, tmp_path, without_texts, name, settings):
    folder = trained(name, tmp_path / "model", **settings)
    with Index.create(tmp_path / "index", documents, model=folder) as index:
        assert all(is_stored(index).values())
        plain = [replace(each, encoding=None) for each in documents]
        scorer = index.matcher.scorer
        expected = passages.score_passages(scorer, QUERY, plain)
        stored = index.documents.lookup([each.id for each in documents])
        without_texts()
        found = passages.score_passages(scorer, QUERY, [stored[each.id] for each in documents])
        assert found.scores == pytest.approx(expected.scores, abs=FP16)
        best = by_id(index.search(QUERY))
    assert found.windows == expected.windows
    assert [each.is_whole for each in found.windows] == [True, True, False, False, True]
    window, long = found.windows[3], best["d3"].passage
    assert long.text.split() == TEXTS[3].split()[window.start : window.end]
    assert TEXTS[3][long.start : long.end] == long.text


def test_a_long_query_is_read_to_the_same_length(index, documents):
    query = "bama delo firi godu kusi " * 5
    stored = index.documents.lookup([each.id for each in documents])
    scorer = index.matcher.scorer
    found = passages.score_passages(scorer, query, [stored[each.id] for each in documents])
    expected = passages.score_passages(scorer, query, documents)
    assert found.scores == pytest.approx(expected.scores, abs=FP16)


def test_documents_that_are_added_updated_and_deleted_have_the_encodings_of_their_texts(index, tmp_path, without_texts):
    index.add([Document("new", "bama delo kusi")])
    index.update([Document("d1", "bama delo firi")])
    index.delete(["d2"])
    without_texts()
    index.close()
    with Index.open(tmp_path / "index") as again:
        found = by_id(again.search(QUERY))
        assert set(found) >= {"new", "d1", "d0"}
        assert "d2" not in found
        assert found["d1"].model_score == pytest.approx(found["d0"].model_score, abs=1e-6)  # the same text
        again.check()


def test_encodings_of_another_model_are_not_used(index, model, tmp_path):
    other = trained("mv-lstm", tmp_path / "other", hidden=7)
    with Index.open(tmp_path / "index", model=other) as opened:
        matcher = Matcher.load(other)
        found = by_id(opened.search(QUERY))
        assert found["d0"].model_score == pytest.approx(float(matcher.predict([(QUERY, TEXTS[0])])[0]), abs=1e-5)
    index.close()
    with Index.open(tmp_path / "index", model=other) as opened:
        opened.add([Document("new", "bama delo firi")])  # with those of the index's own model
    with Index.open(tmp_path / "index") as opened:
        found = opened.documents.lookup(["new", "d0"])
        assert found["new"].encoding[:32] == found["d0"].encoding[:32]


def test_a_model_that_looks_words_up_or_reads_both_texts_stores_nothing(documents, tmp_path):
    assert not stores_encodings("qa-small")
    assert not stores_encodings(trained("match-pyramid", tmp_path / "grid"))
    with Index.create(tmp_path / "index", documents) as index:
        assert not any(is_stored(index).values())
        assert "encodings" not in index.manifest.as_dict()


def test_a_document_that_was_taken_from_an_index_is_encoded_anew(index, documents, tmp_path):
    taken = replace(index.documents.lookup(["d0"])["d0"], id="new", text="godu kusi")
    with Index.create(tmp_path / "other", [taken]) as other:
        assert is_stored(other) == {"new": False}
    index.add([taken])
    found = by_id(index.search(QUERY))
    assert found["new"].model_score == pytest.approx(found["d1"].model_score, abs=1e-6)  # the same text


@pytest.mark.parametrize("damage", [lambda each: each[:-1], lambda each: each[:50] + b"\1" + each[51:], lambda _: b""])
def test_a_damaged_encoding_is_an_input_error(index, damage):
    document = index.documents.lookup(["d0"])["d0"]
    with pytest.raises(InputError, match="encoding of document 'd0' is damaged: index the documents again"):
        unpacked([replace(document, encoding=damage(document.encoding))])


def test_interrupted_indexing_continues_with_encodings(model, documents, tmp_path, monkeypatch):
    monkeypatch.setattr(index_module, "BATCH", 2)

    def some():
        yield from documents[:3]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Index.create(tmp_path / "i", some(), model=model, source="a")
    with Index.create(tmp_path / "i", documents, model=model, source="a") as index:
        assert is_stored(index) == {each.id: True for each in documents}


WRITER = """
import sys
from pairlight import Document, Index
index = Index.open(sys.argv[1])
for n in range(10_000):
    index.update([Document(f"d{n % 5}", f"bama delo {n}", {"n": n})])
    print(n, flush=True)
"""


def test_after_kill_9_every_document_has_the_encoding_of_its_text(index, tmp_path):
    index.close()
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "index")], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    for _ in range(7):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.stdout.close()
    process.wait()
    with Index.open(tmp_path / "index") as again:
        documents = list(again.documents.all_documents())
        scorer = again.matcher.scorer
        found = passages.score_passages(scorer, QUERY, documents).scores
        expected = passages.score_passages(scorer, QUERY, [replace(each, encoding=None) for each in documents]).scores
    assert len(documents) == len(TEXTS)
    assert all(each.encoding is not None for each in documents)
    assert np.abs(found - expected).max() < FP16
