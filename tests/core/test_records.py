"""Records are read with their types, formats and checksums, and every fault is one line that names the file."""

import json
from dataclasses import dataclass

import pytest

from pairlight.core import records
from pairlight.core.errors import InputError
from pairlight.core.records import RecordError, read_record, write_record
from records import change_record


@dataclass(frozen=True)
class Part:
    name: str
    share: float | None = None


@dataclass(frozen=True)
class Whole:
    number: int
    parts: tuple[Part, ...]
    options: dict[str, bool | int | float | str]


WHOLE = Whole(3, (Part("a", 0.5), Part("b")), {"x": 1, "y": 0.1, "z": True, "w": "猫"})
VALUES = {"number": 3, "parts": [{"name": "a", "share": 0.5}, {"name": "b"}], "options": WHOLE.options}


def read(path):
    return read_record(path, Whole, 2, "make it again")


@pytest.fixture
def path(tmp_path):
    write_record(tmp_path / "record.json", VALUES, 2)
    return tmp_path / "record.json"


def test_what_is_written_is_read(path):
    assert read(path) == WHOLE


def test_every_changed_character_is_found_or_changes_nothing(path):
    content = path.read_bytes()
    for place in range(len(content)):
        for flip in (1, 4, 64):
            path.write_bytes(content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :])
            try:
                found = read(path)
            except InputError:
                continue
            assert found == WHOLE


def test_every_truncation_is_found(path):
    content = path.read_bytes()
    for size in range(len(content) - 1):  # the last byte is a line end
        path.write_bytes(content[:size])
        with pytest.raises(RecordError, match=r"record\.json"):
            read(path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"number": "3"}, r"damaged \(number is '3', not of type int\): make it again"),
        ({"number": True}, "number is True, not of type int"),
        ({"number": 3.5}, "number is 3.5"),
        ({"parts": None}, "parts is None, not an array"),
        ({"parts": [{"name": "a", "share": 10**400}]}, "share is 1000.*, not a finite number"),
        ({"parts": [{"name": "a", "other": 1}]}, "unknown field 'other'"),
        ({"options": [1]}, "not an object"),
        ({"options": {"x": None}}, "options.x is None"),
        ({"unknown": 1}, "unknown field 'unknown'"),
        ({"format": 3}, "has format 3, and this version reads format 2: install a newer version"),
        ({"format": 1}, "has format 1, and this version reads format 2: make it again"),
    ],
)
def test_a_wrong_type_is_named(path, changes, said):
    change_record(path, **changes)
    with pytest.raises(InputError, match=said):
        read(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"{" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"format": true}',
        b'{"format": 2, "number": Infinity}',
        b'{"format": 2, "number": NaN}',
        b'{"format": 2, "number": ' + b"9" * 5000 + b"}",
    ],
)
def test_no_content_gives_a_traceback(tmp_path, content):
    (tmp_path / "record.json").write_bytes(content)
    with pytest.raises(RecordError, match=r"record\.json"):
        read(tmp_path / "record.json")


def test_a_missing_file_a_folder_and_a_huge_file_are_one_line(tmp_path, monkeypatch):
    with pytest.raises(RecordError, match=r"cannot be read \(No such file or directory\): check the path"):
        read(tmp_path / "record.json")
    with pytest.raises(RecordError, match="cannot be read"):
        read(tmp_path)
    monkeypatch.setattr(records, "MAX_BYTES", 10)
    (tmp_path / "record.json").write_bytes(b" " * 11)
    with pytest.raises(RecordError, match="more than 10 bytes"):
        read(tmp_path / "record.json")


def test_what_is_not_unicode_is_replaced_and_the_checksum_fits(tmp_path):
    write_record(tmp_path / "record.json", VALUES | {"options": {"name": "a\udcff"}}, 2)
    assert read(tmp_path / "record.json").options == {"name": "a?"}
    assert json.loads((tmp_path / "record.json").read_text())["format"] == 2


def test_a_record_error_is_an_input_error():
    assert issubclass(RecordError, InputError)
