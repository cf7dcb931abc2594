"""Collections are read from files with one text per line, or from standard input."""

import io
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
