"""Collections are read from tables, from files with one text per line, or from standard input."""

import io
import json
import sys

import pytest

from pairlight.core.errors import InputError
from pairlight.data.collection import Collection, read_collection


@pytest.fixture
def written(tmp_path):
    def write(content: bytes) -> str:
        (tmp_path / "texts.txt").write_bytes(content)
        return str(tmp_path / "texts.txt")

    return write


def test_every_line_is_a_text_and_empty_lines_are_skipped(written, tmp_path):
    path = written("one\n\n  two 猫 \n \t\nthree\u2028still three".encode())
    expected = Collection(None, ["one", "two 猫", "three\u2028still three"])
    assert read_collection(path) == expected
    assert read_collection(tmp_path / "texts.txt") == expected
    assert len(expected) == 3


def test_windows_line_ends_and_a_byte_order_mark_are_not_part_of_the_texts(written):
    assert read_collection(written(b"\xef\xbb\xbfone\r\ntwo\r\n")).texts == ["one", "two"]


def test_a_dash_reads_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("één\ntwo\n".encode()), encoding="latin-1"))
    assert read_collection("-").texts == ["één", "two"]


def test_an_error_on_standard_input_names_it(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n")))
    with pytest.raises(InputError, match="standard input contains no text"):
        read_collection("-")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"caf\xe9\n", r"texts\.txt is not valid UTF-8 at byte 3: save it as UTF-8"),
        (b"", r"texts\.txt contains no text"),
        (b"\n \n", r"texts\.txt contains no text"),
        (b"one\n\ntw\0o\n", r"texts\.txt, line 3: the text contains a NUL character"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(written, content, message):
    with pytest.raises(InputError, match=message):
        read_collection(written(content))


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.txt cannot be read \(No such file or directory\): give a file"):
        read_collection(tmp_path / "none.txt")
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\)"):
        read_collection(tmp_path)


def test_a_collection_has_one_id_for_each_text():
    assert Collection(["a", "b"], ["x", "y"]).ids == ["a", "b"]
    with pytest.raises(InputError, match="has 1 ids, but 2 texts"):
        Collection(["a"], ["x", "y"])


ROWS = [{"doc_id": 7, "passage": "one, two", "n": 1}, {"doc_id": 8, "passage": "three", "n": 2}]


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet"])
def test_a_table_gives_texts_and_ids_by_their_usual_names(tmp_path, kind):
    path = tmp_path / f"texts.{kind}"
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(ROWS), path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif kind == "tsv":
        path.write_text("doc_id\tpassage\tn\n7\tone, two\t1\n8\tthree\t2\n")
    else:
        path.write_text('doc_id,passage,n\n7,"one, two",1\n8,three,2\n')
    found = read_collection(path)
    assert found == Collection(["7", "8"], ["one, two", "three"])
    assert found.columns == {"text": "passage", "id": "doc_id"}
    assert [found.text_id(0), found.text_id(1)] == ["7", "8"]
    assert read_collection(path, id="n").ids == ["1", "2"]
    with pytest.raises(InputError, match=r"has no column 'body'|no key 'body'"):
        read_collection(path, text="body")


def test_a_table_without_ids_is_a_collection_without_ids(tmp_path):
    (tmp_path / "t.csv").write_text("question,answer\na,b\nc,d\n")
    found = read_collection(tmp_path / "t.csv")
    assert found == Collection(None, ["b", "d"])
    assert found.text_id(0) is None


@pytest.mark.parametrize(
    ("content", "named", "message"),
    [
        ("text,id\na,\n", {}, r"t\.csv, line 2: id is empty: give every row an id, or none"),
        ("text,id\na,1\n ,2\n", {}, r"t\.csv, line 3: the text ' ' is empty"),
        ("text,id\na\n", {}, r"t\.csv, line 2: the row has 1 fields for 2 columns"),
        ("text,id\n", {}, r"t\.csv contains no text"),
        ("answer,passage\na,b\n", {}, r"more than one column that could be text: 'answer', 'passage'"),
        ("text\na\n", {"id": "key"}, r"t\.csv has no column 'key'"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_with_the_reason(tmp_path, content, named, message):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        read_collection(tmp_path / "t.csv", **named)


def test_columns_of_a_file_of_lines_are_refused(written):
    for option in ("text", "id"):
        with pytest.raises(InputError, match="is read as lines, which have no columns") as caught:
            read_collection(written(b"one\n"), **{option: "answer"})
        assert caught.value.option == option


def test_lone_carriage_returns_are_line_ends_where_there_are_no_others(tmp_path):
    (tmp_path / "old.txt").write_bytes(b"one text\rtwo texts\r")
    assert read_collection(tmp_path / "old.txt").texts == ["one text", "two texts"]
    (tmp_path / "new.txt").write_bytes(b"one\rtext\r\ntwo texts\r\n")
    assert read_collection(tmp_path / "new.txt").texts == ["one\rtext", "two texts"]
