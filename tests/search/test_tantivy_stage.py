"""The lexical stage: what it finds in which language, filters, changes, and one writer at a time."""

import tracemalloc

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.search.analyzers import LANGUAGES, Analyzer, characters_and_bigrams
from pairlight.search.documents import Document
from pairlight.search.tantivy_stage import TantivyStage


def ids(found):
    return [each.document.id for each in found]


@pytest.fixture
def stage(tmp_path):
    made = TantivyStage(tmp_path / "documents", "en")
    made.add(
        [
            Document("cats", "The cats are running home", {"lang": "en", "n": 1}),
            Document("dog", "A dog runs", {"lang": "de", "n": 2}),
            Document("bird", "Birds fly", {"lang": "en", "n": 2}),
        ]
    )
    yield made
    made.close()


def test_words_are_stemmed_and_stop_words_are_ignored(stage):
    assert ids(stage.candidates("runs", 5)) == ["dog", "cats"]  # the shorter text first
    assert ids(stage.candidates("cat", 5)) == ["cats"]
    assert stage.candidates("the are", 5) == []
    assert stage.candidates("!?", 5) == []


def test_a_query_is_words_and_not_a_query_language(stage):
    assert ids(stage.candidates('text:(cat AND "-dog" [a TO', 5)) == ["dog", "cats"]


def test_candidates_have_the_document_as_it_was_added(stage):
    (found,) = stage.candidates("cat", 1)
    assert found.document == Document("cats", "The cats are running home", {"lang": "en", "n": 1})
    assert found.score > 0


def test_a_filter_keeps_scores(stage):
    scores = {each.document.id: each.score for each in stage.candidates("cat run bird", 5)}
    found = stage.candidates("cat run bird", 5, {"lang": "en"})
    assert {each.document.id: each.score for each in found} == {name: scores[name] for name in ("bird", "cats")}
    assert ids(stage.candidates("cat run bird", 5, {"lang": "en", "n": "2"})) == ["bird"]
    assert ids(stage.candidates("cat run bird", 5, {"n": ["2", "3"], "lang": ["de", "fr"]})) == ["dog"]
    assert stage.candidates("cat run bird", 5, {"lang": "fr"}) == []
    assert sorted(stage.ids_where({"lang": "en"}, 2)) == ["bird", "cats"]
    assert stage.ids_where({"lang": "en"}, 1) is None


def test_checking_a_large_file_does_not_hold_it_in_memory(tmp_path):
    stage = TantivyStage(tmp_path / "large", "en")
    stage.add([Document("d", "a text", {}, np.random.default_rng(0).bytes(20_000_000))])
    stage.close()
    (path,) = (tmp_path / "large").glob("*.store")
    assert path.stat().st_size > 20_000_000
    tracemalloc.start()
    stage.check()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000
    with path.open("r+b") as file:
        file.seek(15_000_000)
        byte = file.read(1)
        file.seek(15_000_000)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(InputError, match="is damaged"):
        stage.check()


def test_a_document_with_the_same_id_is_replaced(stage):
    stage.add([Document("dog", "A wolf howls")])
    assert len(stage) == 3
    assert stage.candidates("dog", 5) == []
    assert stage.lookup(["dog", "nobody"]) == {"dog": Document("dog", "A wolf howls")}


def test_deleted_documents_are_gone_and_unknown_ids_are_ignored(stage):
    stage.delete(["dog", "nobody"])
    assert sorted(each.id for each in stage.all_documents()) == ["bird", "cats"]


def test_what_was_added_is_there_when_the_folder_is_opened_again(stage, tmp_path):
    assert len(TantivyStage(tmp_path / "documents", "en")) == 3


def test_a_reader_sees_later_changes_when_it_reloads(stage, tmp_path):
    reader = TantivyStage(tmp_path / "documents", "en")
    stage.add([Document("fish", "Fish swim")])
    assert ids(reader.candidates("fish", 5)) == []
    reader.reload()
    assert ids(reader.candidates("fish", 5)) == ["fish"]


def test_a_second_writer_is_told_to_wait(stage, tmp_path):
    with pytest.raises(InputError, match="is being written to by another process: wait"):
        TantivyStage(tmp_path / "documents", "en").delete(["dog"])


def test_documents_of_a_failed_batch_are_not_committed_with_the_next_one(stage):
    with pytest.raises(TypeError):
        stage.add([Document("good", "text"), Document("bad", "text", {"f": {1}})])
    stage.add([Document("next", "text")])
    assert len(stage) == 4
    assert stage.lookup(["good"]) == {}


def test_a_damaged_folder_is_an_input_error(stage, tmp_path):
    stage.close()
    (tmp_path / "documents" / "meta.json").write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        TantivyStage(tmp_path / "documents", "en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_finds_its_own_text(tmp_path, language):
    stage = TantivyStage(tmp_path, language)
    stage.add([Document("a", "Zebra 東京大学 한국어 テスト"), Document("b", "andere")])
    assert ids(stage.candidates("zebra", 2)) == ["a"]
    stage.close()


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("zh", "他在北京大学学习", "北京"),
        ("ja", "東京でラーメンを食べる", "ラーメン"),
        ("ko", "한국어를 공부합니다", "공부"),
        ("de", "Die Häuser stehen leer", "Haus steht"),
        ("fr", "les chevaux couraient", "cheval courait"),
        ("ru", "большие города", "большой город"),
    ],
)
def test_words_of_a_language_are_found_inside_a_text(tmp_path, language, text, query):
    stage = TantivyStage(tmp_path, language)
    stage.add([Document("right", text), Document("wrong", "xyz")])
    assert ids(stage.candidates(query, 2)) == ["right"]
    stage.close()


def test_chinese_is_indexed_as_characters_and_bigrams():
    assert characters_and_bigrams("我用iPhone，好吗") == "我 用 我用 iPhone 好 吗 好吗"
    assert Analyzer("zh").terms("北京 ABC") == ["北", "京", "北京", "abc"]


def test_an_unknown_language_is_an_error_with_the_known_ones():
    with pytest.raises(InputError, match="No language named 'klingon'"):
        Analyzer("klingon")


def test_a_missing_package_is_one_line_with_what_to_install(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "tantivy", None)
    with pytest.raises(InputError, match=r"pip install 'pairlight\[search\]'"):
        TantivyStage(tmp_path, "en")
