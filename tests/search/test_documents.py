"""Documents, queries and relevance judgments are read from the files that people have."""

import json

import pytest

from pairlight.core.errors import InputError
from pairlight.search.documents import Document, filter_terms, matches, read_documents, read_queries, read_relevance

CLASSIC_TOPICS = """
<top>

<num> Number: 401
<title> foreign minorities,
Germany

<desc> Description:
What language and cultural differences impede integration?

</top>

<top>
<num> Number: 402
<title>Topic: R&D costs
</top>
"""

XML_TOPICS = """\ufeff<?xml version="1.0" encoding="UTF-8"?>
<topics task="search">
  <topic number="401"><query>foreign minorities, Germany</query><question>What impedes them?</question></topic>
  <topic type="x" number='402'>
    <query>R&amp;D costs</query>
  </topic>
</topics>
"""


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.tsv", "id\ttext\tlang\na\tein Text\tde\nb\tétude\tfr\n"),
        ("d.csv", "id,text,lang\na,ein Text,de\nb,étude,fr\n"),
        ("d.jsonl", '{"id": "a", "text": "ein Text", "lang": "de"}\n{"id": "b", "text": "étude", "lang": "fr"}\n'),
    ],
)
def test_a_table_has_ids_texts_and_other_fields(tmp_path, name, content):
    found = list(read_documents(write(tmp_path / name, content)))
    assert found == [Document("a", "ein Text", {"lang": "de"}), Document("b", "étude", {"lang": "fr"})]


def test_a_parquet_file_is_a_table_too(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": [7, 8], "text": ["x", "y"], "n": [1.5, None]}), tmp_path / "d.parquet")
    found = list(read_documents(tmp_path / "d.parquet"))
    assert found == [Document("7", "x", {"n": 1.5}), Document("8", "y", {})]


def test_a_title_is_put_before_the_text_and_kept_as_a_field(tmp_path):
    path = write(tmp_path / "d.csv", "doc_id,title,text\na,Paris,is a city\nb,,is a town\n")
    assert list(read_documents(path)) == [
        Document("a", "Paris is a city", {"title": "Paris"}),
        Document("b", "is a town", {}),
    ]


def test_without_ids_the_number_of_the_row_is_the_id(tmp_path):
    assert [d.id for d in read_documents(write(tmp_path / "d.csv", "text\nx\ny\n"))] == ["1", "2"]
    assert list(read_documents(write(tmp_path / "d.txt", "one\n\ntwo\n"))) == [
        Document("1", "one"),
        Document("2", "two"),
    ]


def test_a_file_without_a_header_has_the_columns_that_were_named(tmp_path):
    path = write(tmp_path / "collection.tsv", "0\tfirst\n1\tsecond\n")
    assert list(read_documents(path, header=["id", "text"])) == [Document("0", "first"), Document("1", "second")]


def test_a_beir_folder_is_read_as_it_is(tmp_path):
    (tmp_path / "qrels").mkdir()
    rows = [{"_id": "d1", "title": "T", "text": "body", "metadata": {"url": "x"}}]
    write(tmp_path / "corpus.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    write(tmp_path / "queries.jsonl", '{"_id": "q1", "text": "what"}\n')
    write(tmp_path / "qrels" / "dev.tsv", "query-id\tcorpus-id\tscore\nq1\td2\t1\n")
    write(tmp_path / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    assert list(read_documents(tmp_path)) == [Document("d1", "T body", {"title": "T", "metadata": {"url": "x"}})]
    assert read_queries(tmp_path) == {"q1": "what"}
    assert read_relevance(tmp_path) == {"q1": {"d1": 2}}
    assert read_relevance(tmp_path / "qrels" / "dev.tsv") == {"q1": {"d2": 1}}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("topics.txt", CLASSIC_TOPICS),
        ("topics.401-450", CLASSIC_TOPICS),
        ("topics.xml", XML_TOPICS),
    ],
)
def test_topics_of_trec_are_read_as_they_are(tmp_path, name, content):
    assert read_queries(write(tmp_path / name, content)) == {"401": "foreign minorities, Germany", "402": "R&D costs"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<top>\n<num> Number: 1\n<desc> only\n</top>", "topic 1: the title is missing"),
        ("<top><num> 1 <title> a</top><top><title> b</top>", "topic 2: the number is missing"),
        ("<top>\n<num> 1\n<title> a", "topic 1: its end is missing"),
        ("<top><num> 1 <title> a </top>" + "<top>" * 1_000_000, "topic 2: its end is missing"),
        ("<topics></topics>", "has no topic"),
        ("<top><num> 1 <title> a</top><top><num> 1 <title> b</top>", "query id '1' more than once"),
    ],
    ids=["no title", "no number", "no end", "many without an end", "no topic", "a number twice"],
)
def test_faulty_topics_are_one_line(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read_queries(write(tmp_path / "topics.txt", content))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.tsv", "7\twhere is it\n"),
        ("q.txt", "7\twhere is it\n"),
        ("q.tsv", "qid\tquery\n7\twhere is it\n"),
        ("q.csv", "question,id\nwhere is it,7\n"),
        ("q.jsonl", '{"_id": "7", "text": "where is it"}\n'),
    ],
)
def test_queries_are_tables_or_lines_of_id_and_query(tmp_path, name, content):
    assert read_queries(write(tmp_path / name, content)) == {"7": "where is it"}


@pytest.mark.parametrize("content", ["q1 0 d1 1\nq1 0 d2 0\n", "q1\td1\t1\nq1\td2\t0\n"])
def test_judgments_are_trec_qrels_or_three_columns(tmp_path, content):
    assert read_relevance(write(tmp_path / "qrels.tsv", content)) == {"q1": {"d1": 1, "d2": 0}}


@pytest.mark.parametrize(
    ("read", "name", "content", "words"),
    [
        (read_documents, "d.csv", "id,text\na,x\nb,\n", "d.csv, line 3: the text '' is empty"),
        (read_documents, "d.csv", "id,text\n,x\n", "d.csv, line 2: id is empty"),
        (read_documents, "d.csv", "id,name\na,x\n", "no column 'text'"),
        (read_documents, "d.csv", "id,text\n", "contains no text"),
        (read_queries, "q.tsv", "1\ta\n1\tb\n", "query id '1' more than once"),
        (read_queries, "q.tsv", "1\ta\nno tab\n", "line 2: write 'id<TAB>query'"),
        (read_queries, "q.csv", "text\na\n", "no column 'query_id'"),
        (read_relevance, "r.tsv", "query-id\tcorpus-id\tscore\nq\td\tx\n", "line 2: write query, document and a whole"),
        (read_relevance, "r.txt", "q1 0 d1 good\n", "write a whole number"),
    ],
)
def test_bad_rows_are_named(tmp_path, read, name, content, words):
    with pytest.raises(InputError, match=words):
        list(read(write(tmp_path / name, content)))


def test_a_folder_that_is_not_in_the_format_of_beir_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"without corpus\.jsonl"):
        list(read_documents(tmp_path))
    with pytest.raises(InputError, match=r"without queries\.jsonl"):
        read_queries(tmp_path)
    with pytest.raises(InputError, match=r"has no \.tsv file"):
        read_relevance(tmp_path)


def test_filters_compare_values_as_texts_and_lists_by_any_value():
    fields = {"lang": "en", "year": 2020, "free": True, "tags": ["a", "b"], "long": "x" * 300, "none": None}
    assert filter_terms(fields) == ["lang=en", "year=2020", "free=true", "tags=a", "tags=b"]
    assert matches(fields, {"lang": "en", "year": "2020"})
    assert matches(fields, {"tags": ["c", "b"]})
    assert matches(fields, None)
    assert not matches(fields, {"lang": "en", "year": "2021"})
    assert not matches(fields, {"color": "red"})


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (Document("", "x"), "id is empty"),
        (Document("a" * 501, "x"), "501 characters"),
        (Document("a", " "), "text of document 'a' ' ' is empty"),
        (Document("a", "x", {"f": {1, 2}}), "not JSON"),
    ],
)
def test_a_document_that_cannot_be_indexed_is_an_error(document, words):
    with pytest.raises(InputError, match=words):
        document.check()
