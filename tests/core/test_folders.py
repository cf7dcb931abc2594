"""One process writes to an output folder, and what a killed process has left there can be continued."""

import os
import subprocess
import sys

import pytest

from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write, is_leftover, write_text
from pairlight.core.folders import LOCK, locked_folder, output_folder

KILLED = """
import os, signal, sys
from pathlib import Path
from pairlight.core.files import atomic_write, write_text
from pairlight.core.folders import output_folder
out = Path(sys.argv[1])
with output_folder(out, overwrite="overwrite" in sys.argv, is_complete=lambda o: (o / "done").exists(), what="a test"):
    if "remove" in sys.argv:
        (out / "done").unlink()
    write_text(out / "part", "half")
    with atomic_write(out / "other") as file:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def output(out, overwrite=False):
    return output_folder(out, overwrite=overwrite, is_complete=lambda o: (o / "done").exists(), what="a test")


def killed(*arguments):
    assert subprocess.run([sys.executable, "-c", KILLED, *map(str, arguments)]).returncode == -9


def test_a_second_run_is_refused_while_the_first_is_running(tmp_path):
    with output(tmp_path):
        with pytest.raises(InputError, match=rf"Another run is writing to .* \(process {os.getpid()}\): wait"):
            output(tmp_path).__enter__()
        with pytest.raises(InputError, match="Another run"):
            locked_folder(tmp_path).__enter__()
    assert list(tmp_path.iterdir()) == []


def test_a_killed_run_can_be_continued_and_its_temporary_files_are_removed(tmp_path):
    killed(tmp_path / "out")
    assert any(is_leftover(path.name) for path in (tmp_path / "out").iterdir())
    with output(tmp_path / "out") as interrupted:
        assert interrupted
        assert {path.name for path in (tmp_path / "out").iterdir()} == {LOCK, "part"}
        write_text(tmp_path / "out" / "done", "")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"part", "done"}


def test_an_earlier_result_is_still_protected_after_a_run_that_would_overwrite_it_was_killed(tmp_path):
    write_text(tmp_path / "done", "earlier")
    killed(tmp_path, "overwrite")
    with pytest.raises(InputError, match="is not empty: choose another folder, or overwrite it"):
        output(tmp_path).__enter__()
    with output(tmp_path, overwrite=True) as interrupted:
        assert not interrupted


def test_a_run_that_has_removed_the_earlier_result_can_be_continued(tmp_path):
    write_text(tmp_path / "done", "earlier")
    killed(tmp_path, "overwrite", "remove")
    with output(tmp_path) as interrupted:
        assert interrupted


def test_an_error_leaves_no_trace_in_a_new_folder(tmp_path):
    with pytest.raises(RuntimeError), output(tmp_path / "a" / "b"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_an_error_after_something_was_written_can_be_continued(tmp_path):
    def fails():
        with output(tmp_path):
            write_text(tmp_path / "part", "half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    with output(tmp_path) as interrupted:
        assert interrupted


def test_a_folder_of_the_user_is_never_used(tmp_path):
    write_text(tmp_path / "thesis.txt", "years of work")
    with pytest.raises(InputError, match="something other than a test"):
        output(tmp_path, overwrite=True).__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_temporary_file_in_use_is_not_taken_for_a_leftover(tmp_path):
    with atomic_write(tmp_path / "a") as file:
        file.write(b"one")
        write_text(tmp_path / "b", "two")  # removes leftovers
    assert (tmp_path / "a").read_text() == "one"


def test_the_longest_file_name_can_be_written(tmp_path):
    name = "猫" * 85  # 255 bytes
    write_text(tmp_path / name, "here")
    assert (tmp_path / name).read_text() == "here"
