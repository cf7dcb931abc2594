"""Files are written whole or not at all, and what is no plain file stays what it is."""

import os
import threading

import pytest

from pairlight.core.files import atomic_write, write_text


def test_a_file_stays_as_it_was_when_writing_fails(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "before")

    def half() -> None:
        with atomic_write(path) as file:
            file.write(b"half")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        half()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    write_text(path, "through")
    reader.join()
    assert read == [b"through"]
    assert path.is_fifo()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("before")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_text(tmp_path / "link.txt", "after")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "after"
