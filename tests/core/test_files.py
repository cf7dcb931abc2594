"""Files are written completely or not at all, checksums cover names and contents, and output folders are checked."""

import hashlib
import json
import os
import stat
import threading

import pytest

from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write, list_files, sha256_of, write_json, write_text
from pairlight.core.folders import claim_folder


def test_a_file_is_unchanged_when_writing_fails(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "before")

    def fail_halfway() -> None:
        with atomic_write(path) as file:
            file.write(b"half")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fail_halfway()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to_and_remains_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    write_text(path, "through")
    reader.join()
    assert read == [b"through"]
    assert path.is_fifo()


def test_a_link_remains_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("before")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_text(tmp_path / "link.txt", "after")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "after"


def test_a_new_file_has_the_permissions_of_the_umask_and_an_existing_one_keeps_its_own(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "new.txt", "a")
        assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640
        for mode in (0o600, 0o664):
            (tmp_path / "old.txt").write_text("before")
            (tmp_path / "old.txt").chmod(mode)
            with atomic_write(tmp_path / "old.txt") as file:
                assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == mode  # also while it is written
                file.write(b"after")
            assert stat.S_IMODE((tmp_path / "old.txt").stat().st_mode) == mode
            assert (tmp_path / "old.txt").read_text() == "after"
    finally:
        os.umask(before)


def test_text_that_is_not_unicode_is_written_with_question_marks(tmp_path):
    write_text(tmp_path / "a.txt", "caf\udce9.tsv")
    assert (tmp_path / "a.txt").read_text("utf-8") == "caf?.tsv"


def test_json_is_written_indented_and_with_readable_characters(tmp_path):
    write_json(tmp_path / "new" / "a.json", {"text": "猫"})
    content = (tmp_path / "new" / "a.json").read_text("utf-8")
    assert content == '{\n  "text": "猫"\n}\n'
    assert json.loads(content) == {"text": "猫"}


def test_files_are_listed_in_order_without_hidden_ones(tmp_path):
    for name in ("b/c.txt", "a.txt", ".git/index", "b/.hidden"):
        write_text(tmp_path / name, name)
    assert [file.relative_to(tmp_path).as_posix() for file in list_files(tmp_path)] == ["a.txt", "b/c.txt"]


def test_the_checksum_of_a_file_is_that_of_its_content(tmp_path):
    content = b"x" * (3 << 20)
    (tmp_path / "a").write_bytes(content)
    assert sha256_of(tmp_path / "a") == hashlib.sha256(content).hexdigest()


def test_the_checksum_of_a_folder_changes_with_names_and_contents_but_not_with_hidden_files(tmp_path):
    write_text(tmp_path / "a.txt", "one")
    before = sha256_of(tmp_path)
    write_text(tmp_path / ".git" / "index", "hidden")
    assert sha256_of(tmp_path) == before
    (tmp_path / "a.txt").rename(tmp_path / "b.txt")
    renamed = sha256_of(tmp_path)
    write_text(tmp_path / "b.txt", "two")
    assert len({before, renamed, sha256_of(tmp_path)}) == 3


def test_a_pipe_and_a_missing_file_have_no_checksum(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert sha256_of(tmp_path / "pipe") is None
    assert sha256_of(tmp_path / "missing") is None


def claim(out, overwrite=False):
    claim_folder(out, overwrite=overwrite, is_ours=lambda folder: (folder / "card.json").is_file(), what="a dataset")


def test_a_new_or_empty_folder_may_be_used_and_nothing_is_created(tmp_path):
    claim(tmp_path)
    claim(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_result_is_overwritten_only_on_request(tmp_path):
    write_text(tmp_path / "card.json", "{}")
    with pytest.raises(InputError, match=r"is not empty: choose another folder, or overwrite it\.$") as caught:
        claim(tmp_path)
    assert caught.value.option == "overwrite"
    claim(tmp_path, overwrite=True)


def test_other_contents_are_never_overwritten(tmp_path):
    write_text(tmp_path / "thesis.txt", "years of work")
    with pytest.raises(InputError, match="something other than a dataset, so it is not overwritten") as caught:
        claim(tmp_path, overwrite=True)
    assert caught.value.option == "out"


def test_a_file_is_not_a_folder(tmp_path):
    write_text(tmp_path / "a", "")
    with pytest.raises(InputError, match="a is a file: choose a folder"):
        claim(tmp_path / "a", overwrite=True)
